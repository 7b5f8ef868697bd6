import codl.CodlException;
import codl.Network;
import java.io.File;
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.util.Arrays;

/** The wrapper on a desktop: NetworkTest PLAN. */
public final class NetworkTest {
  private static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  private static <T extends Exception> T expect(Class<T> type, Runnable body) {
    try {
      body.run();
    } catch (Exception exception) {
      check(type.isInstance(exception), "expected " + type + ", found " + exception);
      return type.cast(exception);
    }
    throw new AssertionError("expected " + type + ", found none");
  }

  private static long elements(long[] dims) {
    return Arrays.stream(dims).reduce(1, (a, b) -> a * b);
  }

  private static float[] outputOf(Network network) {
    ByteBuffer[] inputs = {network.newInput(0)};
    ByteBuffer[] outputs = {network.newOutput(0)};
    FloatBuffer x = inputs[0].asFloatBuffer();
    check(x.capacity() == elements(network.inputDims(0)), "an input of its dims");
    for (int i = 0; i < x.capacity(); ++i) x.put(i, (i % 101 - 50) / 50f);
    network.run(inputs, outputs);
    float[] y = new float[outputs[0].capacity() / 4];
    outputs[0].asFloatBuffer().get(y);
    check(y.length == elements(network.outputDims(0)), "an output of its dims");
    return y;
  }

  private static int numberOf(String name) {
    // /proc has the number without looking into Java's own classes.
    for (File link : new File("/proc/self/fd").listFiles()) {
      try {
        if (Files.readSymbolicLink(link.toPath()).toString().endsWith(name)) return Integer.parseInt(link.getName());
      } catch (java.io.IOException exception) {
        continue; // the descriptor of the listing itself
      }
    }
    throw new AssertionError("expected a descriptor of " + name + ", found none");
  }

  public static void main(String[] arguments) throws Exception {
    String plan = arguments[0];
    Network.Options options = new Network.Options();
    options.variant = "cpu";
    float[] expected;
    try (Network network = Network.open(plan, options)) {
      check(network.inputCount() == 1 && network.outputCount() == 1, "one input and one output");
      check(network.inputName(0).equals("input") && network.outputName(0).equals("output"), "names of the model");
      check(network.variant().equals("cpu") && network.fallbackReason().isEmpty(), "the variant asked for");
      expected = outputOf(network);
      float sum = 0;
      for (float value : expected) sum += Math.abs(value);
      check(sum > 0 && Float.isFinite(sum), "numbers that are not all zero");
      for (int i = 0; i < 100; ++i) check(Arrays.equals(outputOf(network), expected), "equal runs");

      // A plan of one shape takes its own.
      check(network.shapeCount() == 1 && Arrays.equals(network.inputDims(0, 0), network.inputDims(0)), "one shape");
      network.setShapes(network.inputDims(0));
      long[] wider = network.inputDims(0);
      wider[wider.length - 1] += 1;
      check(expect(CodlException.class, () -> network.setShapes(wider)).getMessage().startsWith("input shapes: expected "),
          "which shapes there are");
      expect(CodlException.class, () -> network.setShapes());
      expect(CodlException.class, () -> network.setShapes((long[]) null));
      expect(CodlException.class, () -> network.setShapes(new long[20]));
      expect(IndexOutOfBoundsException.class, () -> network.inputDims(0, 1));

      ByteBuffer[] inputs = {network.newInput(0)};
      ByteBuffer[] outputs = {network.newOutput(0)};
      CodlException refused = expect(CodlException.class, () -> network.run(outputs, inputs));
      check(refused.getMessage().contains("expected"), refused.getMessage());
      expect(CodlException.class, () -> network.run(new ByteBuffer[0], outputs));
      expect(IllegalArgumentException.class, () -> network.run(new ByteBuffer[] {ByteBuffer.allocate(16)}, outputs));
      expect(IllegalArgumentException.class, () -> network.run(new ByteBuffer[] {null}, outputs));
      expect(IllegalArgumentException.class,
          () -> network.run(inputs, new ByteBuffer[] {outputs[0].asReadOnlyBuffer()}));
      expect(IndexOutOfBoundsException.class, () -> network.newInput(1));
      expect(IndexOutOfBoundsException.class, () -> network.outputName(-1));

      // Cancelled or not, a run ends, and the next one is as the first.
      Thread other = new Thread(() -> {
        for (int i = 0; i < 1000; ++i) network.cancel();
      });
      other.start();
      while (other.isAlive()) {
        try {
          network.run(inputs, outputs);
        } catch (CodlException exception) {
          check(exception.getMessage().contains("codl_session_cancel"), exception.getMessage());
        }
      }
      other.join();
      check(Arrays.equals(outputOf(network), expected), "a run after a cancelled one");
      network.close();
      expect(IllegalStateException.class, () -> network.run(inputs, outputs));
    }

    // An asset: the plan somewhere inside of another file.
    File container = new File(Files.createTempDirectory("codl_java").toFile(), "package.bin");
    byte[] bytes = Files.readAllBytes(new File(plan).toPath());
    try (FileOutputStream file = new FileOutputStream(container)) {
      file.write(new byte[4096]);
      file.write(bytes);
      file.write(new byte[100]);
    }
    Network asset;
    try (RandomAccessFile file = new RandomAccessFile(container, "r")) {
      asset = Network.open(numberOf("package.bin"), 4096, bytes.length, options);
    }
    try (asset) {
      check(Arrays.equals(outputOf(asset), expected), "the same plan as an asset");
    } finally {
      container.delete();
      container.getParentFile().delete();
    }

    CodlException missing = expect(CodlException.class, () -> Network.open("/none.codl", null));
    check(missing.getMessage().contains("none.codl") && missing.status != 0, missing.getMessage());
    options.variant = "none";
    expect(CodlException.class, () -> Network.open(plan, options));
    options.variant = null;
    options.threads = -1;
    expect(CodlException.class, () -> Network.open(plan, options));
    System.out.println("codl from Java: all as expected");
  }
}
