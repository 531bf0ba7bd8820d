"""The faults that the suite must convict, as data: what happened, where it was reported, and how sure that is.

Statements are ours; the references name public trackers. ``EXACT`` entries are complaints about code that is right: controls.
Every entry stands in exactly one mutant's or control's ``fault_id``, or in ``NOT_COVERED`` with the reason.
"""

from dataclasses import dataclass
from typing import Literal

Class = Literal["BUG", "REVIEW", "CLAIM", "DESIGN", "METRIC", "EXACT", "DESIGNED"]


@dataclass(frozen=True)
class Fault:
    """One entry. BUG: fixed or measured. REVIEW: caught in review. CLAIM: unconfirmed. DESIGN: lossy on purpose.

    METRIC: counters and choices only. EXACT: looks wrong and is not. DESIGNED: nobody's report, made for the suite.
    """

    statement: str
    reported: tuple[str, ...]
    verdict: Class


FAULTS: dict[str, Fault] = {
    "A01": Fault(
        "Top-1 draft scored with the softmax probability (teaching implementation)",
        ("jaymody/speculative-sampling#3", "jaymody/speculative-sampling#4"),
        "BUG",
    ),
    "A02": Fault(
        "Assistant model always decodes greedily while its softmax is used as the draft's law",
        ("huggingface/transformers#32867", "huggingface/transformers#33534"),
        "BUG",
    ),
    "A03": Fault(
        "First release of speculative decoding: assistant did not sample, processors not forwarded, index slip",
        ("huggingface/transformers#28166",),
        "BUG",
    ),
    "A04": Fault("Beam-search drafts treated as samples of the draft model", ("apple/ml-recurrent-drafter#6",), "BUG"),
    "A06": Fault(
        "Draft drawn from bf16 logits, ratio computed in fp32",
        ("deepseek-ai/DeepSpec#31", "deepseek-ai/DeepSpec#30"),
        "BUG",
    ),
    "A07": Fault(
        "Draft row taken from a plain softmax while the draft uses temperature and filters",
        ("mlx-node/mlx-node#65",),
        "REVIEW",
    ),
    "A08": Fault("Draft probabilities overwritten by the sampling noise", ("vllm-project/vllm#16952",), "BUG"),
    "A10": Fault(
        "Random start tokens outside the declared support (Jacobi-style drafts)", ("junhyukso/GSD#1",), "CLAIM"
    ),
    "A11": Fault("Top-p filter divides by the wrong mass", ("OptimalScale/LMFlow#630",), "REVIEW"),
    "B01": Fault(
        "Residual subtracts only at the drafted token (tree verifier, first version)", ("SafeAILab/EAGLE#20",), "BUG"
    ),
    "B03": Fault(
        "Residual passed through softmax instead of being normalised", ("huggingface/transformers#28508",), "BUG"
    ),
    "B04": Fault(
        "Replacement token drawn from the target rather than from the residual (rollout reuse)",
        ("ShopeeLLM/Spec-RL#14",),
        "DESIGN",
    ),
    "B05": Fault("Probabilistic accept added to a match-based loop", ("ml-explore/mlx-lm#1085",), "CLAIM"),
    "B06": Fault("Recovery step zeroes the target row in place", ("vllm-project/vllm-ascend#2881",), "CLAIM"),
    "B07": Fault("NaN draft row: the rejected token is emitted anyway", ("vllm-project/vllm#41834",), "BUG"),
    "B08": Fault("NaN target row gives an id outside the vocabulary", ("vllm-project/vllm#45060",), "BUG"),
    "B09": Fault(
        "CDF scan that never crosses the threshold returns a huge default id", ("iree-org/iree-turbine#890",), "BUG"
    ),
    "B11": Fault(
        "Forced rejection of grammar-invalid drafts with a live draft row", ("local-inference-lab/vllm#476",), "BUG"
    ),
    "C01": Fault("Match counter accepts every draft", ("huggingface/transformers#28508",), "BUG"),
    "C02": Fault(
        "First draft token committed without a check", ("ohdearquant/lattice#243", "ohdearquant/lattice#258"), "BUG"
    ),
    "C03": Fault(
        "Draft EOS ends generation before verification; greedy path used a clock-seeded sampler",
        ("ohdearquant/lattice#237",),
        "BUG",
    ),
    "C05": Fault("Verification by argmax at temperature > 0 (serving engine)", ("ROCm/ATOM#2318",), "BUG"),
    "C06": Fault(
        "On-device runtime ignores sampling parameters when speculation is on",
        ("google-ai-edge/LiteRT-LM#3017",),
        "CLAIM",
    ),
    "C07": Fault(
        "Platform fallback: silent greedy verification on one GPU vendor, and n-gram default greedy",
        ("sgl-project/sglang#32922", "sgl-project/sglang#13116"),
        "BUG",
    ),
    "C08": Fault("MTP path always greedy", ("NVIDIA/TensorRT-LLM#5627",), "CLAIM"),
    "C09": Fault(
        "Spots that stayed greedy when sampling was added (first token, bonus, mismatch token)",
        ("Luce-Org/lucebox#374",),
        "BUG",
    ),
    "C10": Fault(
        "'coin <= probability' accepts an impossible token when the coin is exactly 0",
        ("sgl-project/sglang#35771", "sgl-project/sglang#35788"),
        "BUG",
    ),
    "C11": Fault(
        "fp32 uniforms return exact zero too often", ("vllm-project/vllm#23803", "pytorch/pytorch#16706"), "BUG"
    ),
    "C13": Fault(
        "Explained (and used as a reference) as 'accept if target >= draft'",
        (
            "vllm-project/vllm-project.github.io#80",
            "flashinfer-ai/flashinfer tests/trace reference for chain_speculative_sampling",
        ),
        "REVIEW",
    ),
    "BV01": Fault(
        "Block verification with token-level criterion and residual",
        ("vllm-project/vllm-ascend#7807", "vllm-project/vllm-ascend#7808"),
        "BUG",
    ),
    "BV02": Fault(
        "Block criterion used for drafts that have no draft row",
        ("vllm-project/vllm-ascend#7603", "vllm-project/vllm-ascend#7839"),
        "BUG",
    ),
    "BV04": Fault(
        "Wrong repair suggested: stop at the first position that fails", ("vllm-project/vllm-ascend#11985",), "REVIEW"
    ),
    "BV05": Fault(
        "Flag accepted and ignored; also statements that contradict the theory",
        ("vllm-project/vllm-ascend#15673", "vllm-project/vllm#40819"),
        "REVIEW",
    ),
    "D01": Fault(
        "Draft filtered by the request, target scored with defaults",
        ("vllm-project/vllm#9834", "vllm-project/vllm#10198"),
        "BUG",
    ),
    "D02": Fault("Top-p not applied in batch verification", ("mlc-ai/mlc-llm#2940", "mlc-ai/mlc-llm#2201"), "BUG"),
    "D03": Fault(
        "Probabilities expected, logits passed (temperature lost) after an upstream API change",
        ("vllm-project/vllm-ascend#6685",),
        "BUG",
    ),
    "D04": Fault("Sampler hands back unprocessed logits to the verifier", ("vllm-project/vllm#36930",), "BUG"),
    "D06": Fault(
        "logit_bias silently dropped under speculation", ("vllm-project/vllm#38202", "vllm-project/vllm#38467"), "BUG"
    ),
    "D07": Fault("Repetition / presence / frequency penalties ignored", ("NVIDIA/TensorRT-LLM#17701",), "BUG"),
    "D08": Fault("Rejected drafts leak into the penalty state", ("osaurus-ai/vmlx-swift#357",), "BUG"),
    "D10": Fault(
        "Chained filter in the verifier, joint filter in the plain path (second engine)",
        ("ztxz16/fastllm#738", "ztxz16/fastllm#737"),
        "BUG",
    ),
    "D11": Fault(
        "Grammar mask missing on the bonus row after padded drafts",
        ("vllm-project/vllm#44006", "vllm-project/vllm#44292"),
        "BUG",
    ),
    "D12": Fault(
        "Greedy sentinel changed from -1 to 0, verifier not told",
        ("vllm-project/vllm#27077", "vllm-project/vllm-ascend#5417"),
        "BUG",
    ),
    "D13": Fault("Greedy approximated by temperature 1e-6 in mixed batches", ("FlashML-org/FreeToken#471",), "BUG"),
    "D14": Fault("Verification rows attend to later drafts", ("Blaizzy/mlx-vlm#1188",), "BUG"),
    "E01": Fault(
        "Draft and recovery use the same Gumbel vector", ("vllm-project/vllm#47386", "vllm-project/vllm#54282"), "BUG"
    ),
    "E02": Fault(
        "Regression: one speculator overrides the salted stream",
        ("local-inference-lab/vllm#205", "local-inference-lab/vllm#209"),
        "BUG",
    ),
    "E03": Fault(
        "The same coupling in ports and deployment kits",
        ("vllm-project/vllm-ascend#15739", "syv-ai/qwen38-27b-rtx3090#89"),
        "BUG",
    ),
    "E05": Fault("Draft sampler and verifier seeded alike", ("ggml-org/llama.cpp#27694",), "REVIEW"),
    "E07": Fault(
        "Kernel reused uniforms and missed a barrier",
        ("flashinfer-ai/flashinfer#424", "flashinfer-ai/flashinfer#425"),
        "BUG",
    ),
    "E08": Fault(
        "Identical random stream for separate requests",
        ("NVIDIA/TensorRT-LLM#19487", "NVIDIA/TensorRT-LLM#19505"),
        "BUG",
    ),
    "E09": Fault("Seeds looked up by slot instead of by index", ("NVIDIA/TensorRT-LLM#1742",), "BUG"),
    "E10": Fault(
        "Rows without a seed keep uninitialised noise in a mixed batch",
        ("vllm-project/vllm#9441", "vllm-project/vllm#10863"),
        "BUG",
    ),
    "E11": Fault("Ranks draw different accept coins", ("vllm-project/vllm#17498", "vllm-project/vllm#17509"), "BUG"),
    "E12": Fault("Global RNG drives the draft", ("local-inference-lab/vllm#98",), "BUG"),
    "E13": Fault(
        "Per-request seed ignored or path-dependent", ("vllm-project/vllm#6038", "vllm-project/vllm#6034"), "BUG"
    ),
    "F01": Fault(
        "Rejection handled one iteration late: token taken from the row after the rejected one",
        ("openvinotoolkit/openvino.genai#4190", "openvinotoolkit/openvino.genai#4490"),
        "BUG",
    ),
    "F02": Fault("Batched write uses a Cartesian index", ("Dao-AILab/flash-attention#2779",), "BUG"),
    "F03": Fault(
        "Probabilistic drafts corrupt text as soon as more than two sequences run", ("1CatAI/1Cat-vLLM#656",), "CLAIM"
    ),
    "F05": Fault("Per-token arrays passed to a per-request kernel", ("vllm-project/vllm#35398",), "REVIEW"),
    "F07": Fault("Stale probability buffers after graph warm-up", ("NVIDIA/TensorRT-LLM#15775",), "REVIEW"),
    "F08": Fault("Padded rows make the kernel emit more tokens than exist", ("flashinfer-ai/flashinfer#879",), "CLAIM"),
    "F09": Fault("Stale drafts near the length limit", ("vllm-project/vllm#38711",), "BUG"),
    "F10": Fault(
        "Logit-position buffer sized by requests instead of tokens", ("vllm-project/tpu-inference#514",), "BUG"
    ),
    "F11": Fault(
        "Off-by-one at the accept boundary / cache offset", ("kekzl/imp#667", "ml-explore/mlx-examples#149"), "BUG"
    ),
    "G01": Fault(
        "Deterministic top-k tree nodes verified with a softmax draft row; wrong logits slice",
        ("NVIDIA/TensorRT-LLM#15098", "NVIDIA/TensorRT-LLM#12588"),
        "BUG",
    ),
    "G02": Fault(
        "Stochastic tree verification added before stochastic drafting", ("ggml-org/llama.cpp#5625",), "REVIEW"
    ),
    "G04": Fault(
        "Siblings without replacement need a renormalised draft row",
        ("SafeAILab/EAGLE#74", "SafeAILab/EAGLE#58"),
        "EXACT",
    ),
    "H02": Fault(
        "Draft token dropped because of its own probability",
        ("ikawrakow/ik_llama.cpp#1732", "ggml-org/llama.cpp#22673"),
        "CLAIM",
    ),
    "H03": Fault(
        "Budget chosen with look-ahead confidences", ("vllm-project/vllm#47808", "vllm-project/vllm#52228"), "CLAIM"
    ),
    "P01": Fault(
        "log(1-ratio) loses the residual when the draft is much smaller than the target",
        ("vllm-project/vllm#46665",),
        "BUG",
    ),
    "P02": Fault(
        "fp32 exponential noise never below 2^-24: tail tokens cannot win", ("vllm-project/vllm#43150",), "BUG"
    ),
    "P04": Fault(
        "Draft probability slightly above 1 after a fast softmax",
        ("sgl-project/sglang test_speculative_sampling.py",),
        "BUG",
    ),
    "P05": Fault("Target verified in head dtype (bf16)", ("vllm-project/vllm#53630",), "CLAIM"),
    "L01": Fault("Typical acceptance", ("vllm-project/vllm#5131", "youssofal/MTPLX#478"), "DESIGN"),
    "L03": Fault(
        "Draft accepted when it lies in the nucleus (verify window)",
        ("PaddlePaddle/PaddleNLP#9492", "PaddlePaddle/FastDeploy#4189"),
        "DESIGN",
    ),
    "L04": Fault("Entropy-gated and cascade rules", ("vllm-project/vllm#50808", "vllm-project/vllm#53987"), "DESIGN"),
    "J02": Fault(
        "Draft total uses the wrong width", ("sgl-project/sglang#13212", "NVIDIA/TensorRT-LLM#14724"), "METRIC"
    ),
    "J03": Fault("Accepted count adds acceptances after the first rejection", ("vllm-project/vllm#2658",), "METRIC"),
    "J04": Fault("Accepted tokens counted beyond EOS", ("vllm-project/vllm#56101",), "METRIC"),
    "J05": Fault("Draft length rewarded although the draft stopped early", ("ggml-org/llama.cpp#3006",), "METRIC"),
    "J07": Fault("Scheduler's break-even model leaves out a cost", ("antirez/ds4#695",), "METRIC"),
    "J08": Fault(
        "Acceptance estimator drops the last window", ("keyboardAnt/distributed-speculative-inference#34",), "METRIC"
    ),
    "J09": Fault("Bandit over speculation settings", ("sgl-project/sglang#4732", "sgl-project/sglang#18284"), "METRIC"),
    "Z01": Fault(
        "'Equality with the target's sample is biased' (it is not)",
        ("ml-explore/mlx-swift-lm#459", "lablup/mlxcel#902"),
        "EXACT",
    ),
    "Z03": Fault(
        "'draft_probs=None breaks losslessness'", ("vllm-project/vllm#40149", "vllm-project/vllm#40269"), "EXACT"
    ),
    "Z04": Fault(
        "Zeros passed as draft probabilities in a target-only kernel",
        ("sgl-project/sglang#9877", "sgl-project/sglang#10308"),
        "EXACT",
    ),
    "Z05": Fault("Assistant at another temperature", ("huggingface/transformers#40976",), "EXACT"),
    "Z06": Fault("Residual seems to be the plain target (updated in place)", ("NJUNLP/MCSD#5",), "EXACT"),
    "Z07": Fault("One bad row switches the whole batch to one-hot mode", ("vllm-project/vllm-ascend#14368",), "EXACT"),
    "Z08": Fault(
        "Greedy outputs differ by kernel numerics",
        ("huggingface/transformers#39421", "ml-explore/mlx-lm#1423"),
        "EXACT",
    ),
    "M01": Fault("Second draft tested against the target instead of the updated residual", (), "DESIGNED"),
    "M02": Fault("Independent siblings sorted by draft probability before verification", (), "DESIGNED"),
    "M03": Fault("Siblings drawn without replacement, draft row left unnormalised", (), "DESIGNED"),
    "M04": Fault("Best of two independently verified chains", (), "DESIGNED"),
    "M05": Fault("Squared ratio (log-space slip)", (), "DESIGNED"),
    "M06": Fault("Bonus drawn from the last verified row", (), "DESIGNED"),
    "M07": Fault("Same noise offset at consecutive steps (counter not advanced)", (), "DESIGNED"),
}

# Entries without a mutant, and why.
NOT_COVERED: dict[str, str] = {
    "J07": "a choice between speculating and not by time per token: no property measures time",
}
