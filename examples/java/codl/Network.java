package codl;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * An opened plan with one session. Inputs and outputs are direct buffers in the plan's order, which a
 * run reads and writes where they are.
 *
 * <p>One run at a time, from any thread; {@link #cancel} from any other. {@link #close} waits for a run
 * that is in progress.
 */
public final class Network implements AutoCloseable {
  static {
    System.loadLibrary("codl_jni");
  }

  /** How a session is made; as codl_session_options_t, whose defaults these are. */
  public static final class Options {
    /** The plan's variant; null: its first. */
    public String variant;
    /** CPU threads; 0: what the plan was made for. */
    public int threads;
    /** Fails where no GPU can be used, in place of taking the CPU variant. */
    public boolean requireVariant;
    /** Finishes a run that the driver fails in on the CPU variant. */
    public boolean fallback;
    /** Each so many runs a GPU step is computed again on the CPU; 0: never. */
    public int checkEvery;
    /** A folder that only this app can write, for built OpenCL programs; null: none. */
    public String programCache;
    /** Decides the numbers of RandomNormal and its like; all 64 bits count. */
    public long seed;
  }

  // Held for reading by what uses the native object, for writing by close().
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private long handle;

  private Network(long handle) {
    this.handle = handle;
  }

  /** The plan in a file. */
  public static Network open(String path, Options options) {
    return new Network(openFile(path, options));
  }

  /**
   * The plan in {@code size} bytes from {@code offset} on of an open file, such as an asset that is not
   * compressed: {@code AssetFileDescriptor} has all three. The descriptor stays the caller's.
   */
  public static Network open(int descriptor, long offset, long size, Options options) {
    return new Network(openDescriptor(descriptor, offset, size, options));
  }

  public int inputCount() {
    return using(Network::inputCount);
  }

  public int outputCount() {
    return using(Network::outputCount);
  }

  /** "input" or whatever the model calls it. */
  public String inputName(int index) {
    return using(h -> name(h, index, false));
  }

  public String outputName(int index) {
    return using(h -> name(h, index, true));
  }

  /** The dims of an input or output at the shapes in use; an output's largest. */
  public long[] inputDims(int index) {
    return using(h -> dims(h, entry(h), index, false));
  }

  public long[] outputDims(int index) {
    return using(h -> dims(h, entry(h), index, true));
  }

  /** How many sets of input shapes the plan is for; it begins with the first. */
  public int shapeCount() {
    return using(Network::entryCount);
  }

  /** The dims of an input in one of these sets. */
  public long[] inputDims(int index, int shape) {
    return using(h -> dims(h, shape, index, false));
  }

  /**
   * Has the next runs use the set of shapes in which the inputs, in the plan's order, have these dims.
   * Buffers are then of its sizes. A CodlException says which there are if none has them.
   */
  public void setShapes(long[]... dims) {
    using(h -> {
      setShapes(h, dims);
      return null;
    });
  }

  /** A buffer of the input's size at the shapes in use, of zeros. */
  public ByteBuffer newInput(int index) {
    return newBuffer(using(h -> bytes(h, entry(h), index, false)));
  }

  public ByteBuffer newOutput(int index) {
    return newBuffer(using(h -> bytes(h, entry(h), index, true)));
  }

  /**
   * Runs once. All of each buffer is used, whatever its position and limit. IllegalArgumentException
   * for one that is not direct, and for an output that is read-only.
   */
  public void run(ByteBuffer[] inputs, ByteBuffer[] outputs) {
    for (ByteBuffer output : outputs)
      if (output.isReadOnly()) throw new IllegalArgumentException("expected outputs that can be written, found one read-only");
    using(h -> {
      run(h, inputs, outputs);
      return null;
    });
  }

  /** How many states the network keeps from run to run. They are not among inputs and outputs. */
  public int stateCount() {
    return using(Network::stateCount);
  }

  /** Copies a state to all of a direct buffer of its size: zeros at first, then as the last run left it. */
  public void readState(int index, ByteBuffer to) {
    if (to.isReadOnly()) throw new IllegalArgumentException("expected a buffer that can be written, found one read-only");
    using(h -> {
      moveState(h, index, to, false);
      return null;
    });
  }

  /** Makes the bytes of a direct buffer the state that the next run begins with. */
  public void writeState(int index, ByteBuffer from) {
    using(h -> {
      moveState(h, index, from, true);
      return null;
    });
  }

  /** Sets all states to zero. */
  public void resetStates() {
    using(h -> {
      resetStates(h);
      return null;
    });
  }

  /** Ends the run in progress, which throws a CodlException with the status CODL_CANCELLED. */
  public void cancel() {
    using(h -> {
      cancel(h);
      return null;
    });
  }

  /** The variant in use. */
  public String variant() {
    return using(h -> variant(h, false));
  }

  /** Why it is not the one asked for; empty if it is. */
  public String fallbackReason() {
    return using(h -> variant(h, true));
  }

  @Override
  public void close() {
    lock.writeLock().lock();
    try {
      if (handle != 0) close(handle);
      handle = 0;
    } finally {
      lock.writeLock().unlock();
    }
  }

  private interface Use<T> {
    T of(long handle);
  }

  private <T> T using(Use<T> use) {
    lock.readLock().lock();
    try {
      if (handle == 0) throw new IllegalStateException("expected an open network, found one closed");
      return use.of(handle);
    } finally {
      lock.readLock().unlock();
    }
  }

  private static ByteBuffer newBuffer(long bytes) {
    return ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
  }

  private static native long openFile(String path, Options options);

  private static native long openDescriptor(int descriptor, long offset, long size, Options options);

  private static native int inputCount(long handle);

  private static native int outputCount(long handle);

  private static native String name(long handle, int index, boolean isOutput);

  private static native long[] dims(long handle, int entry, int index, boolean isOutput);

  private static native long bytes(long handle, int entry, int index, boolean isOutput);

  private static native int entryCount(long handle);

  private static native int entry(long handle);

  private static native void setShapes(long handle, long[][] dims);

  private static native void run(long handle, ByteBuffer[] inputs, ByteBuffer[] outputs);

  private static native int stateCount(long handle);

  private static native void moveState(long handle, int index, ByteBuffer buffer, boolean isWrite);

  private static native void resetStates(long handle);

  private static native void cancel(long handle);

  private static native String variant(long handle, boolean isReason);

  private static native void close(long handle);
}
