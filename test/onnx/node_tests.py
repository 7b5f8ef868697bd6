"""Gets ONNX's backend node tests as folders, from the onnx package (test/differential/requirements.txt pins it)."""
import os
import warnings


def is_tensor(array):
    import numpy as np
    return isinstance(array, (np.ndarray, np.generic, int, float)) and np.asarray(array).dtype.kind not in "OUS"


def write_node_tests(place):
    """Writes place/NAME/{model.onnx,in_I.npy,out_I.npy,tol.txt}; tests of strings, sequences ... without arrays."""
    import numpy as np
    import onnx
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tests divide by zero on purpose
        tests = collect_testcases("")
    for test in tests:
        folder = os.path.join(place, test.name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(test.model.SerializeToString())
        with open(os.path.join(folder, "tol.txt"), "w", encoding="utf-8") as file:
            file.write(f"{test.rtol} {test.atol}\n")
        for stem, arrays in zip(("in", "out"), test.data_sets[0]):
            for i, array in enumerate(arrays):
                if isinstance(array, onnx.TensorProto):
                    array = onnx.numpy_helper.to_array(array)
                if is_tensor(array):
                    np.save(os.path.join(folder, f"{stem}_{i}.npy"), np.require(array, requirements="C"))
