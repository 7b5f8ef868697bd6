package codl;

/** An error of libcodl: its status and its line of text. */
public final class CodlException extends RuntimeException {
  /** A codl_status_t. */
  public final int status;

  CodlException(int status, String message) {
    super(message);
    this.status = status;
  }
}
