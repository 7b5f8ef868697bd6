#!/usr/bin/env python3
"""Measures the losses of trained networks that codlc --prune=auto makes 10, 20 and 30 % faster, by prediction.

    smaller_networks.py BIN --ocr REC.onnx --face FACE.onnx --selfie SELFIE.onnx --photos WHEEL.whl --work DIR

Any of the three networks may be left out. Each is pruned with calibration data made here, and run by codl-run on test data that
it was not fitted to, against the untouched network:

  ocr     PP-OCR recognition. Lines of random words in Debian's fonts (--fonts), other words and letters' sizes to test with.
          Share of characters that are wrong (edit distance to the text), and how many more that are than of the untouched network.
  face    MediaPipe face landmarks. The face of a photograph (astronaut.png of scikit-image's wheel, of which nothing is in this
          tree), turned, scaled, shifted, lit and mirrored, otherwise to test with. Mean distance of landmarks from the untouched
          network's, in percent of the input's width.
  selfie  MediaPipe selfie segmentation. The same photograph and other photographs of the wheel. Mean overlap (intersection over
          union) with the untouched network's mask.

Needs numpy, Pillow and, for the alphabet of OCR, onnx. DIR keeps data, plans and what codlc has measured (--search-log): the
same command goes on where it was cut off. DIR/smaller_networks.md."""
import argparse
import glob
import io
import json
import os
import sys
import time
import zipfile

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import results
from measured_pairs import run, write_whole

CUTS = (10, 20, 25, 30)  # percent of the predicted time
LINE = (48, 240)  # height and width
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Gives center and width of the face in astronaut.png, as the landmark network needs it.
FACE = (224, 115, 190)


def word(rng):
    return "".join(rng.choice(list(LETTERS), rng.integers(3, 8)))


def line(rng, fonts):
    """Returns an image of some words, and the words."""
    text = " ".join(word(rng) for _ in range(rng.integers(1, 3)))
    font = ImageFont.truetype(fonts[rng.integers(len(fonts))], int(rng.integers(26, 38)))
    shade, paper = int(rng.integers(0, 90)), int(rng.integers(190, 256))
    left, top, right, bottom = font.getbbox(text)
    image = Image.new("RGB", (right - left + 12, bottom - top + 12), (paper,) * 3)
    ImageDraw.Draw(image).text((6 - left, 6 - top), text, fill=(shade,) * 3, font=font)
    height, width = LINE
    fitted = min(width, max(1, round(image.width * height / image.height)))
    pixels = np.asarray(image.resize((fitted, height), Image.BILINEAR), np.float32)[:, :, ::-1] / 255
    x = np.zeros((3, height, width), np.float32)  # filled as the network's own preparation does
    x[:, :, :fitted] = (pixels.transpose(2, 0, 1) - 0.5) / 0.5
    return x, text


def cut_out(photo, center, width, size, rng):
    """Returns a square of a photograph, turned, scaled, shifted, lit and mirrored."""
    width *= rng.uniform(0.85, 1.3)
    x, y = (center[i] + rng.uniform(-0.1, 0.1) * width for i in range(2))
    angle = np.radians(rng.uniform(-20, 20))
    scale = width / size
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    middle = size / 2
    image = photo.transform((size, size), Image.AFFINE, (cos, -sin, x - cos * middle + sin * middle,
                                                         sin, cos, y - sin * middle - cos * middle), Image.BILINEAR)
    pixels = np.asarray(image, np.float32) / 255
    if rng.integers(2):
        pixels = pixels[:, ::-1]
    pixels = (pixels - 0.5) * rng.uniform(0.7, 1.2) + 0.5 + rng.uniform(-0.1, 0.1)
    return np.clip(pixels + rng.normal(0, 0.01, pixels.shape), 0, 1).astype(np.float32)


def distance(a, b):
    """Returns the number of edits that turn one text into the other."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        above, row = row, [i + 1]
        for j, other in enumerate(b):
            row.append(min(row[j] + 1, above[j + 1] + 1, above[j] + (letter != other)))
    return row[-1]


class Ocr:
    calibration, test = 128, 200  # numbers of samples; half of the first are fitted to
    name, metric, flags = "ocr", "characters wrong (more than untouched)", [f"--input-shape=x:1x3x{LINE[0]}x{LINE[1]}"]

    def __init__(self, options):
        import onnx
        self.model = options.ocr
        metadata = {entry.key: entry.value for entry in onnx.load(self.model).metadata_props}
        self.alphabet = [""] + metadata["character"].splitlines() + [" "]
        self.fonts = sorted(glob.glob(os.path.join(options.fonts, "**", "DejaVuSans*.ttf"), recursive=True) +
                            glob.glob(os.path.join(options.fonts, "**", "DejaVuSerif*.ttf"), recursive=True))
        if not self.fonts:
            sys.exit(f"smaller_networks.py: error: {options.fonts}: expected DejaVu fonts (fonts-dejavu), found none")

    def data(self, count, rng):
        lines = [line(rng, self.fonts) for _ in range(count)]
        self.texts = [text for _, text in lines]
        return np.stack([x for x, _ in lines])

    def text_of(self, outputs):
        best = outputs[0].reshape(-1, len(self.alphabet)).argmax(1)
        return "".join(self.alphabet[best[i]] for i in range(len(best)) if best[i] and (i == 0 or best[i] != best[i - 1]))

    def judge(self, outputs, untouched):
        wrong, before = (sum(distance(self.text_of(found), text) for found, text in zip(all_outputs, self.texts))
                         for all_outputs in (outputs, untouched))
        count = sum(map(len, self.texts))
        return f"{100 * wrong / count:.2f} % of {count} ({100 * (wrong - before) / count:+.2f})"


class Face:
    calibration, test = 48, 24
    name, metric, flags, size = "face", "landmarks' distance, % of the width", [], 192

    def __init__(self, options):
        self.model = options.face
        self.photo = photo(options.photos, "astronaut.png")

    def data(self, count, rng):
        return np.stack([cut_out(self.photo, FACE[:2], FACE[2], self.size, rng) for _ in range(count)])

    def judge(self, outputs, untouched):
        points = [[max(found, key=np.size).reshape(-1, 3)[:, :2] for found in all_outputs] for all_outputs in (outputs, untouched)]
        return f"{100 / self.size * np.mean([np.linalg.norm(a - b, axis=1).mean() for a, b in zip(*points)]):.2f}"


class Selfie:
    calibration, test = 48, 24
    name, metric, flags, size = "selfie", "overlap of masks", [], 256

    def __init__(self, options):
        self.model = options.selfie
        self.photos = [(photo(options.photos, name), center, width)
                       for name, center, width in (("astronaut.png", (230, 220), 400), ("astronaut.png", (220, 160), 300),
                                                   ("astronaut.png", (250, 256), 480), ("camera.png", (240, 256), 480))]

    def data(self, count, rng):
        return np.stack([cut_out(*self.photos[i % len(self.photos)], self.size, rng) for i in range(count)])

    def judge(self, outputs, untouched):
        overlaps = []
        for found, was in zip(outputs, untouched):
            a, b = found[0] > 0.5, was[0] > 0.5
            overlaps.append((a & b).sum() / max((a | b).sum(), 1))
        return f"{100 * np.mean(overlaps):.2f} %"


def photo(wheel, name):
    with zipfile.ZipFile(wheel) as files:
        return Image.open(io.BytesIO(files.read("skimage/data/" + name))).convert("RGB")


def outputs_of(options, plan, folder, images):
    """Returns the network's outputs, by name, for each image."""
    found = []
    for image in images:
        np.save(os.path.join(folder, "input.npy"), image[None])
        name = json.loads(run(options.bin, "codl-dump", plan, "--json"))["inputs"][0]["name"] if not found else name
        run(options.bin, "codl-run", plan, f"--input={name}={os.path.join(folder, 'input.npy')}",
            f"--output-dir={os.path.join(folder, 'out')}", "-o", os.devnull)
        found.append([np.load(path) for path in sorted(glob.glob(os.path.join(folder, "out", "*.npy")))])
    return found


def rows_of(network, options):
    folder = os.path.join(options.work, network.name)
    os.makedirs(os.path.join(folder, "calibration"), exist_ok=True)
    np.save(os.path.join(folder, "calibration", "samples.npy"), network.data(network.calibration, np.random.default_rng(1)))
    test = network.data(network.test, np.random.default_rng(2))
    rows, untouched = [], None
    for cut in (0, *CUTS):
        plan = os.path.join(folder, f"{cut}.codl")
        flags = [] if cut == 0 else ["--prune=auto", f"--latency-cut={cut}%", "--accuracy-budget=100%",
                                     f"--calibration={os.path.join(folder, 'calibration')}",
                                     f"--search-log={os.path.join(folder, 'search.log')}"]
        if not os.path.exists(plan + ".json"):
            begin = time.monotonic()
            text = run(options.bin, "codlc", network.model, f"--device={options.device}", *network.flags, *flags, "-o", plan,
                       f"--report={plan}.new.json", seconds=7200)
            print(f"{network.name}, {cut} %: compiled in {time.monotonic() - begin:.0f} s", flush=True)
            write_whole(plan + ".txt", text)
            os.replace(plan + ".new.json", plan + ".json")
        with open(plan + ".json", encoding="utf-8") as file:
            report = json.load(file)
        found = outputs_of(options, plan, folder, test)
        untouched = untouched or found
        macs = sum(operator["macs"] for operator in report["operators"])
        us = report["variants"][0]["predicted_us"]
        first = (us, macs) if cut == 0 else first
        norm = np.sqrt(sum(float((a.astype(np.float64) ** 2).sum()) for was in untouched for a in was))
        off = np.sqrt(sum(float(((a.astype(np.float64) - b) ** 2).sum()) for is_, was in zip(found, untouched)
                          for a, b in zip(is_, was)))
        rows.append([network.name if cut == 0 else "", f"{cut} %" if cut else "untouched", f"{us / 1e3:.2f}",
                     f"{100 * (1 - us / first[0]):.1f} %", f"{100 * (1 - macs / first[1]):.1f} %",
                     f"{report['plan']['weight_bytes'] / 1e6:.2f}", f"{off / norm:.4f}",
                     network.judge(found, untouched), network.metric])
        print(" | ".join(rows[-1]), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="folder of codlc, codl-dump and codl-run")
    parser.add_argument("--ocr", metavar="FILE.onnx")
    parser.add_argument("--face", metavar="FILE.onnx")
    parser.add_argument("--selfie", metavar="FILE.onnx")
    parser.add_argument("--photos", metavar="WHEEL", help="scikit-image's, for face and selfie")
    parser.add_argument("--fonts", metavar="DIR", default="/usr/share/fonts")
    parser.add_argument("--device", default="sd855", help="that times are predicted for (default: sd855)")
    parser.add_argument("--work", required=True, metavar="DIR")
    options = parser.parse_args()
    if (options.face or options.selfie) and not options.photos:
        parser.error("--photos: expected scikit-image's wheel with --face and --selfie, found none")
    networks = [kind(options) for kind, path in ((Ocr, options.ocr), (Face, options.face), (Selfie, options.selfie)) if path]
    rows = [row for network in networks for row in rows_of(network, options)]
    lines = ["# Trained networks made faster", "",
             *results.wrapped("Pruned by `--prune=auto --latency-cut`. "
                              + "; ".join(f"{network.name}: {network.calibration // 2} samples fitted to, "
                                          f"{network.test} others to judge" for network in networks) + f". Times are predicted for {options.device}; the deviation is the relative L2 error of "
                              "the outputs. `test/eval/smaller_networks.py`."),
             *results.table(["network", "asked for", "predicted, ms", "time saved", "multiply-adds saved", "weights, MB",
                             "deviation", "found", "which is"], rows)]
    write_whole(os.path.join(options.work, "smaller_networks.md"), "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
