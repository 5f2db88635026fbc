"""Greedy continuations by transformers of five Java prompts, with the default model's own weights.

    greedy.py WEIGHTS.gguf OUT.json

Transformers dequantises the file to f32. Its own reading of a GGUF tokenizer does not know this one's rules, so the
tokenizer is put together here: digits one by one, then GPT-2's rules.
"""

import json
import sys
from pathlib import Path

import torch
import transformers as hf
from gguf import GGUFReader
from tokenizers import Tokenizer, models, pre_tokenizers

PROMPTS = [
    "class Numbers {\n    static int abs(int x) {\n        if (x < 0) {\n            return",
    "class Numbers {\n    static int gcd(int a, int b) {\n        if (b == 0) {\n            return a;\n"
    "        } else {\n            return",
    "class Strings {\n    static boolean isEmpty(String str) {\n        return",
    "class Sum {\n    static int sum(int[] values) {\n        int total = 0;\n        for (int i = 0;",
    "class Stack {\n    Object pop() {\n        if (size == 0) {\n            throw new",
]
TOKENS = 24


def main():
    weights, out = Path(sys.argv[1]), Path(sys.argv[2])
    fields = GGUFReader(weights).fields
    tokens, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    vocab = {text: i for i, text in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    model = hf.AutoModelForCausalLM.from_pretrained(
        weights.parent, gguf_file=weights.name, dtype=torch.float32).eval()
    rows = []
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt).ids
        with torch.no_grad():
            made = model.generate(
                torch.tensor([ids]), max_new_tokens=TOKENS, do_sample=False, eos_token_id=None, pad_token_id=0)
            logits = model(torch.tensor([ids])).logits[0, -1]
        best = torch.topk(logits, 5)
        rows.append(dict(prompt=prompt, ids=ids, continuation=made[0, len(ids):].tolist(),
                         best=list(zip(best.indices.tolist(), [round(x, 4) for x in best.values.tolist()]))))
    out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


main()
