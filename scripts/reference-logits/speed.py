"""Speeds of transformers and llama.cpp beside ours; see speed.sh.

    speed.py make DIR                 random weights of CodeT5-small and CodeT5-base
    speed.py measure DIR MODEL.gguf   tokens per second of processor time
"""

import json
import shutil
import sys
import time
from pathlib import Path

import torch
import transformers as hf

STEPS = 16
PROMPT = [1000 + 37 * i for i in range(256)]
SIZES = {"codet5-small": (512, 2048, 8, 6), "codet5-base": (768, 3072, 12, 12)}
TINY = Path(__file__).parent.parent.parent / "tests/fixtures/models/codet5"


def make(root):
    for name, (width, inner, heads, layers) in SIZES.items():
        out = root / name
        out.mkdir(parents=True, exist_ok=True)
        config = json.loads((TINY / "config.json").read_text())
        config.update(vocab_size=32100, d_model=width, d_ff=inner, d_kv=64, num_heads=heads,
                      num_layers=layers, num_decoder_layers=layers)
        model = hf.T5ForConditionalGeneration(hf.T5Config(**config))
        model.save_pretrained(out)
        (out / "config.json").write_text(json.dumps(config))
        # Only ids matter here: the tiny tokenizer with its sentinels at the end will do.
        for file in ("vocab.json", "merges.txt"):
            shutil.copy(TINY / file, out / file)
        (out / "added_tokens.json").write_text(json.dumps({f"<extra_id_{i}>": 32099 - i for i in range(100)}))


def report(name, what, tokens, work):
    start = time.process_time()
    work()
    print(f"{name}: {what}: {tokens / (time.process_time() - start):.1f} per cpu-s", flush=True)



def measure_t5(name, path):
    model = hf.T5ForConditionalGeneration.from_pretrained(path, dtype=torch.float32).eval()
    ids = torch.tensor([PROMPT])
    encoded = []
    report(name, "prompt of 256", 256, lambda: encoded.append(model.encoder(ids).last_hidden_state))
    for width in (1, 8, 32, 64):
        hidden = encoded[0].expand(width, -1, -1).contiguous()
        mask = torch.ones(width, 256, dtype=torch.long)

        def step(tokens, past):
            return model(encoder_outputs=(hidden,), attention_mask=mask, decoder_input_ids=tokens,
                         past_key_values=past, use_cache=True).past_key_values

        # The first step computes the keys of the prompt for every row; ours come with the prompt.
        first = step(torch.zeros(width, 1, dtype=torch.long), None)

        def work(past=first):
            for i in range(STEPS):
                past = step(torch.full((width, 1), 2000 + i), past)

        report(name, f"batch {width}", STEPS * width, work)


def measure_decoder(name, path):
    model = hf.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    report(name, "prompt of 256", 256, lambda: model(torch.tensor([PROMPT]), logits_to_keep=1))
    for width in (1, 8, 32, 64):
        past = model(torch.tensor([PROMPT] * width), use_cache=True, logits_to_keep=1).past_key_values

        def work(past=past):
            for i in range(STEPS):
                past = model(torch.full((width, 1), 2000 + i), past_key_values=past, use_cache=True).past_key_values

        report(name, f"batch {width}", STEPS * width, work)


def main():
    hf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    if sys.argv[1] == "make":
        return make(Path(sys.argv[2]))
    with torch.no_grad():
        for name in SIZES:
            measure_t5(f"transformers, {name}", Path(sys.argv[2]) / name)
        measure_decoder("transformers, SmolLM2", Path(sys.argv[3]))
    measure_llama_cpp("llama.cpp, SmolLM2", sys.argv[3])


def measure_llama_cpp(name, path):
    """Prompt and batch 1 through the server object that xllamacpp offers; it has no step of several rows."""
    import xllamacpp as xlc
    params = xlc.CommonParams()
    params.model.path = path
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_ctx, params.n_parallel, params.warmup = 512, 1, False
    server = xlc.Server(params)
    text = "int value = 12345; " * 28

    def complete(n):
        return server.handle_completions({"prompt": text, "n_predict": n, "temperature": 0, "ignore_eos": True,
                                          "cache_prompt": False})

    start = time.process_time()
    one = complete(1)
    prompt = time.process_time() - start
    timings = one.get("timings", {})
    n = timings.get("prompt_n", 256)
    print(f"{name}: prompt of {n}: {n / prompt:.1f} per cpu-s", flush=True)
    start = time.process_time()
    complete(65)
    print(f"{name}: batch 1: {64 / (time.process_time() - start - prompt):.1f} per cpu-s", flush=True)


main()
