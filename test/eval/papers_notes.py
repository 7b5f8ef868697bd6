"""What differs from the founding papers, and why: sentences that were checked, with numbers of the data at hand."""
import statistics


class Words:
    """Numbers of the first phone's plans as they stand in a sentence."""

    def __init__(self, data):
        self.data, self.names, self.phone = data, data.paper_networks, data.first

    def run(self, name, strategy):
        return self.data.run(self.phone, name, strategy)

    def percent(self, strategy, value):
        return f"{100 * statistics.mean(value(self.run(n, strategy)) for n in self.names):.0f} %"

    def on_gpu(self, strategy):
        return self.percent(strategy, lambda run: run["gpu_mac_share"])

    def busy(self, strategy, queue):
        return self.percent(strategy, lambda run: run["busy_us"][queue] / run["wall_us"])

    def worst_hybrid(self):
        """The network where the hybrid of Fig. 18 loses most to splits along height, and by how many percent."""
        ms = lambda name, half: self.data.clock_ms(self.phone, name, half)
        over = {n: ms(n, "half_hybrid") / ms(n, "half_height") for n in self.names}
        name = max(over, key=over.get)
        return name, f"{100 * (over[name] - 1):.0f} %"


def latency(data, words):
    buffers = data.paper.figures["2"]
    slower = buffers["buffer_ms"][0] / buffers["image_ms"][0]
    return ["Times are by CoDL's clock, which leaves out what the host takes to enqueue. The paper times lists of operators that are "
            "not connected, without elementwise operators, concatenations and normalisations; codl's plans are of whole networks, "
            "and begin and end in the application's memory.",
            "CPU: of the 1013 ms that the [ladder](../ladder.md) fits for FST on Snapdragon 855, 759 are MACE's kernels for 9x9 filters "
            "and for 3x3 of stride 2; of PoseNet's 450 ms, 237 are 7x7 filters. codl's convolutions take all filters at one rate, and "
            "are simulated to be faster there.",
            f"Buffers: MACE's kernel of Fig. 2 is {slower:.1f} times as slow with buffers as with images. On Snapdragon 855 codl's CoDL with "
            f"buffers leaves the GPU {words.on_gpu('codl-buffer')} of the multiply-adds, with images {words.on_gpu('codl')}; uLayer has "
            "buffers in both. The released plans were made for MACE's kernels: with codl's the GPU is busy "
            f"{words.busy('codl-released', 'gpu')} of their time and the CPU {words.busy('codl-released', 'cpu')}."]


def partition(data, words):
    drawn, released = len(data.paper.figures["17"]["retinaface"]), len(data.paper.networks["retinaface"])
    return [f"The paper draws {drawn} operators of RetinaFace, its released code has {released}, codl's graph of the whole network "
            f"{len(words.run('retinaface', 'codl')['dims'])} convolutions, pools and products. Halves: every operator at a share of one "
            "half, dims from a plan without chains, chains from a plan with them. Algorithm 1: the paper's search, on codl's costs "
            "and at shares of its own; it leaves some operators on one processor, which halves do not."]


def ablation(data, words):
    name, percent = words.worst_hybrid()
    return ["At a forced share codlc adds up what single operators cost, and counts no transfer where a split along channels is followed by "
            "one along height (`CostModel::transfer_us`). So its halves alternate between the two, and the simulated hybrid, which pays for "
            f"these transfers, is not always the best of the three: for {name} it takes {percent} more than height.",
            f"Sharing is that of whole networks: FST has {words.run('fst', 'cpu')['counts']['operators']} operators in codl's graph, among "
            f"them normalisations and additions, and {len(data.paper.networks['fst'])} in the paper's list."]


def costs(data, words):
    return ["Simulated watts are the profile's 1.3 for the whole time, 4.8 while the CPU works and 2.4 while the GPU does. In the mean of "
            f"the networks CoDL's plans keep the CPU busy {words.busy('codl', 'cpu')} of the time and the GPU "
            f"{words.busy('codl', 'gpu')}, uLayer's {words.busy('mulayer', 'cpu')} and {words.busy('mulayer', 'gpu')}. The paper's samples "
            "of CoDL below 7.75 W were left out (released code).",
            "Simulated memory is what a session holds: weights, arenas, images and tables. The CPU's kernels by Winograd's method have "
            f"weights of their own beside the GPU's: of YOLOv2 {words.run('yolov2', 'codl')['winograd_bytes'] / 1e6:.0f} MB of the "
            f"{words.run('yolov2', 'codl')['memory']['total_bytes'] / 1e6:.0f} (`--no-winograd` leaves them out)."]


def predictors(data, words):
    return ["The paper's predictions are of MACE's kernels on phones, these of codl's kernels on other machines. CoDL's models were built "
            "anew (`test/eval/four_models.py`) and fitted to the same samples as the others; no prediction is of a shape that its fit "
            "has seen."]


def strategies(data, words):
    alone = ", ".join(f"{n} on {p}" for p in data.phones for n in data.networks if data.run(p, n, "optimal")["is_alone"])
    return ["A cell is the simulated time over the fastest strategy's of its row: green is the fastest, red takes twice as long or more. "
            f"codl's default asks that a plan for both be faster in 90 % of the draws of what a profile leaves open; else one processor "
            f"computes alone ({alone}), and another strategy may be predicted to be faster. "
            "The study's phone is a Kirin 985, codl's profile is of a Kirin 990. uLayer is on codl's kernels for buffers, which lose less "
            "to images than MACE's (above)."]


def unsupported(data, words):
    return ["Counted are steps of the plan: conversions between layouts, maps and unmaps, copies between memories, slices and joins. The "
            "GPU has a kernel for every operator of these networks, so what is not the network's comes from splitting. A part reads its "
            "rows in place, so that no plan has slices. What the study counts as an operator is not in the summary that we have."]


def granularity(data, words):
    coarse = words.run("resnet50", "coarse")
    return ["Simulated processes take time of the CPU only, and plans are those for an idle phone. The coarse plan of ResNet-50 keeps the "
            f"CPU busy {100 * coarse['busy_us']['cpu'] / coarse['wall_us']:.0f} % of its time, so that other processes hardly touch it; "
            "the study's order at two processes does not come out so."]


def frames(data, words):
    idle = [name for name, limits in data.collected["frames"].items() if limits["50 %"]["gpu_share"] == 0]
    left = [f"Of {', '.join(idle)} the plan at 50 % leaves the GPU idle: no plan with GPU work was found that keeps the limits and is "
            "faster than the CPU alone."] if idle else []
    return [*left, "The study counts frames of a real player beside MACE; here a display is simulated beside codl's plans, and its frames are lost "
            "where they are not drawn within 16.7 ms ([simulator](../../reference/simulator.md)). Slices: no stretch of GPU work over 4 ms "
            "(`--max-gpu-slice=4ms`); percent: the same, and no more of a run's time on the GPU (`--gpu-limit`)."]


SECTIONS = (latency, partition, ablation, costs, predictors, strategies, unsupported, granularity, frames)


def notes_of(data):
    """Paragraphs by section; none where the data are not of the papers' networks and first phone."""
    if data.first != "sd855" or not {"retinaface", "yolov2", "fst", "resnet50"} <= set(data.networks):
        return {}
    words = Words(data)
    return {section.__name__: section(data, words) for section in SECTIONS}
