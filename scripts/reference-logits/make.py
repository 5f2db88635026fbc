"""Random models of every family, small enough to be kept, with the logits that transformers computes for them.

    make.py DIR            all fixtures below DIR
    make.py DIR NAME...    those only

Each directory is a checkpoint as the hub has it (configuration, weights, tokenizer) and `reference.safetensors`:
sequences with a common beginning, computed in one padded batch, and their logits at some positions. Weights are rounded
to the type that they are kept in before anything is computed.
"""

import json
import shutil
import sys
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

JAVA = """
public class Numbers {
    private static int gcd(int a, int b) {
        if (b == 0) {
            return a;
        }
        return gcd(b, a % b);
    }

    static boolean isEmpty(String str) {
        return str == null || str.length() == 0;
    }
}
"""
MERGES = 24
PREFIX, LONG, MIDDLE, SHORT = 20, 130, 90, 40
POSITIONS = [19, 20, 28, 29, 35, 39, 50, 59, 60, 75, 89, 100, 115, 129]


# --- tokenizers -----------------------------------------------------------------------------------------------------

def byte_pairs(first_ids):
    """Vocabulary and merges of a byte-level tokenizer whose first ids are given."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + MERGES, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([JAVA], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    ordered = sorted(model["vocab"], key=model["vocab"].get)
    vocab = {text: i for i, text in enumerate(first_ids + ordered)}
    return vocab, [tuple(merge) for merge in model["merges"]]


def added(tokens, vocab):
    """Entries of `added_tokens`: ids of the vocabulary where it has them, new ones where not."""
    new = iter(range(len(vocab), len(vocab) + len(tokens)))
    ids = {text: vocab[text] if text in vocab else next(new) for text in tokens}
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return [dict(id=i, content=text, **flags) for text, i in sorted(ids.items(), key=lambda item: item[1])]


def byte_level(out, specials, normalizer=None):
    vocab, merges = byte_pairs([])
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    file = json.loads(tokenizer.to_str())
    file["normalizer"] = normalizer
    file["added_tokens"] = added(specials, vocab)
    (out / "tokenizer.json").write_text(json.dumps(file, ensure_ascii=False))
    return len(vocab) + len(specials)


def pieces(out, specials, normalizer):
    """SentencePiece as transformers converts it: U+2581 for spaces, bytes as a last resort."""
    letters = sorted(set(JAVA.replace(" ", "").replace("\n", "")))
    vocab = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["\u2581"] + letters
    merges = [("\u2581", "\u2581"), ("i", "n"), ("in", "t"), ("\u2581", "int"), ("\u2581\u2581", "\u2581\u2581")]
    vocab += [a + b for a, b in merges]
    vocab = {text: i for i, text in enumerate(vocab)}
    model = models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    file = json.loads(Tokenizer(model).to_str())
    file["normalizer"] = normalizer
    file["added_tokens"] = added(specials, vocab)
    (out / "tokenizer.json").write_text(json.dumps(file, ensure_ascii=False))
    return len(vocab) + sum(text not in vocab for text in specials)


PREPEND = {"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "\u2581"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}


def roberta(out):
    """CodeT5's: two files, and sentinels numbered from the end."""
    vocab, merges = byte_pairs(["<pad>", "<s>", "</s>", "<unk>", "<mask>"])
    (out / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False))
    lines = ["#version: 0.2 - Trained by `huggingface/tokenizers`"] + [" ".join(merge) for merge in merges]
    (out / "merges.txt").write_text("\n".join(lines) + "\n")
    size = len(vocab) + 100
    (out / "added_tokens.json").write_text(json.dumps({f"<extra_id_{i}>": size - 1 - i for i in range(100)}))
    return size


FIM = ["<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>"]
TOKENIZERS = {
    "codet5": roberta,
    "t5-gated": roberta,
    "incoder": lambda out: byte_level(out, ["<|endoftext|>", "<pad>", "<|mask:0|>", "<|mask:1|>", "<|endofmask|>"]),
    "qwen2": lambda out: byte_level(out, [
        "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
        "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"], {"type": "NFC"}),
    "starcoder2": lambda out: byte_level(out, ["<|endoftext|>"] + FIM + ["<repo_name>", "<file_sep>"]),
    "starcoder": lambda out: byte_level(out, ["<|endoftext|>"] + FIM + ["<filename>", "<reponame>"]),
    "santacoder": lambda out: byte_level(
        out, ["<|endoftext|>", "<fim-prefix>", "<fim-middle>", "<fim-suffix>", "<fim-pad>"]),
    "deepseek": lambda out: byte_level(out, [
        "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581end\uff5c>", "<|EOT|>"]),
    "granite": lambda out: byte_level(out, ["<|endoftext|>"] + FIM + ["<filename>", "<reponame>"]),
    "mellum": lambda out: byte_level(out, ["<|endoftext|>"] + FIM + ["<filename>", "<reponame>"]),
    "codellama": lambda out: pieces(out, [
        "<unk>", "<s>", "</s>", "\u2581<PRE>", "\u2581<MID>", "\u2581<SUF>", "\u2581<EOT>"], PREPEND),
    "codestral": lambda out: pieces(out, ["<unk>", "<s>", "</s>", "[PREFIX]", "[MIDDLE]", "[SUFFIX]"], PREPEND),
    "codegemma": lambda out: pieces(out, [
        "<unk>", "<bos>", "<eos>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_separator|>"], REPLACE),
}


# A hole as the authors' examples lay it out, in one string for their tokenizer. CodeLlama and Codestral are tokenised in
# parts by their authors' code, which no string expresses.
FIM_STRING = "<fim_prefix>{0}<fim_suffix>{1}<fim_middle>"
STRINGS = {
    "codet5": "{0}<extra_id_0>{1}",
    "incoder": "<|endoftext|><| file ext=.java |>\n{0}<|mask:0|>{1}<|mask:1|><|mask:0|>",
    "qwen2": "<|fim_prefix|>{0}<|fim_suffix|>{1}<|fim_middle|>",
    "starcoder2": FIM_STRING, "starcoder": FIM_STRING, "granite": FIM_STRING,
    "santacoder": "<fim-prefix>{0}<fim-suffix>{1}<fim-middle>",
    "deepseek": "<\uff5cbegin\u2581of\u2581sentence\uff5c><\uff5cfim\u2581begin\uff5c>{0}<\uff5cfim\u2581hole\uff5c>{1}"
                "<\uff5cfim\u2581end\uff5c>",
    "mellum": "<fim_suffix>{1}<fim_prefix>{0}<fim_middle>",
    "codegemma": "<bos><|fim_prefix|>{0}<|fim_suffix|>{1}<|fim_middle|>",
}


def prompt(name, out):
    """The ids of a hole by the library's tokenizer, special tokens registered as their authors register them."""
    if name not in STRINGS:
        return
    if (out / "tokenizer.json").exists():
        tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    else:
        tokenizer = Tokenizer(models.BPE.from_file(str(out / "vocab.json"), str(out / "merges.txt")))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
        added_ids = json.loads((out / "added_tokens.json").read_text())
        # New ids are given out in order.
        tokenizer.add_special_tokens(
            [AddedToken(text, lstrip=True) for text in sorted(added_ids, key=added_ids.get)])
    start = JAVA.index(" a;")
    # Short enough for every window.
    prefix, suffix = JAVA[start - 70:start], JAVA[start + 3:start + 60]
    ids = tokenizer.encode(STRINGS[name].format(prefix, suffix)).ids
    (out / "prompt.json").write_text(json.dumps(dict(prefix=prefix, suffix=suffix, ids=ids)) + "\n")


# --- models ---------------------------------------------------------------------------------------------------------

def rotary(cls, config, vocab, **more):
    sizes = dict(vocab_size=vocab, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, max_position_embeddings=400)
    return cls(config(**{**sizes, **more}))


def llama(vocab, **more):
    return rotary(hf.LlamaForCausalLM, hf.LlamaConfig, vocab, **more)


def t5(vocab, gated):
    return hf.T5ForConditionalGeneration(hf.T5Config(
        vocab_size=vocab, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4,
        feed_forward_proj="gated-gelu" if gated else "relu", tie_word_embeddings=not gated,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=0))


def bigcode(vocab, multi_query):
    return hf.GPTBigCodeForCausalLM(hf.GPTBigCodeConfig(
        vocab_size=vocab, n_embd=32, n_layer=2, n_head=4, n_positions=400, multi_query=multi_query,
        activation_function="gelu_pytorch_tanh", attn_implementation="eager"))


MODELS = {
    "codet5": lambda vocab: t5(vocab, gated=False),
    "t5-gated": lambda vocab: t5(vocab, gated=True),
    "incoder": lambda vocab: hf.XGLMForCausalLM(hf.XGLMConfig(
        vocab_size=vocab, d_model=32, ffn_dim=64, num_layers=2, attention_heads=4, max_position_embeddings=400,
        activation_function="gelu")),
    # The embedding is rounded up, as in the published checkpoints.
    "qwen2": lambda vocab: rotary(
        hf.Qwen2ForCausalLM, hf.Qwen2Config, vocab + 7, tie_word_embeddings=True, rope_theta=1e6),
    "starcoder2": lambda vocab: rotary(hf.Starcoder2ForCausalLM, hf.Starcoder2Config, vocab, rope_theta=1e5),
    "starcoder": lambda vocab: bigcode(vocab, True),
    "santacoder": lambda vocab: bigcode(vocab, False),
    "deepseek": lambda vocab: llama(
        vocab, rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 1e5}),
    "granite": lambda vocab: llama(vocab, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "mellum": lambda vocab: llama(vocab),
    "codellama": lambda vocab: llama(vocab, rope_theta=1e6, num_key_value_heads=4),
    "codestral": lambda vocab: rotary(
        hf.MistralForCausalLM, hf.MistralConfig, vocab, rope_theta=1e6, sliding_window=None, head_dim=12),
    "codegemma": lambda vocab: rotary(
        hf.GemmaForCausalLM, hf.GemmaConfig, vocab, head_dim=12, num_key_value_heads=1, hidden_act="gelu"),
}
DTYPES = {"codet5": torch.float32, "incoder": torch.float32, "starcoder": torch.bfloat16, "codegemma": torch.bfloat16}


def randomise(model, dtype):
    """Values that make every part matter: logits of a few units, norms off one, biases off zero."""
    gemma = model.config.model_type == "gemma"
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "relative_attention_bias" in name:
                p.normal_(0, 1.0)
            elif p.dim() == 1 and name.endswith("weight"):
                p.uniform_(-0.5, 0.5) if gemma else p.uniform_(0.5, 1.5)
            elif p.dim() == 1:
                p.normal_(0, 0.2)
            elif "embed" in name or "wte" in name or "wpe" in name or "shared" in name:
                p.normal_(0, 0.5)
            else:
                p.normal_(0, p.shape[1] ** -0.5)
            p.copy_(p.to(dtype).float())


def save(name, model, out, dtype):
    state = {key: value.to(dtype).contiguous().clone() for key, value in model.state_dict().items()}
    tied = {"lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
    # Transformers 5 ties every T5; the scale of the output tells them apart.
    if model.config.tie_word_embeddings or model.config.model_type == "t5":
        state = {key: value for key, value in state.items() if key not in tied}
    if name == "codet5":
        torch.save(state, out / "pytorch_model.bin")
    elif name in ("incoder", "qwen2"):
        shards(state, out, pickled=name == "incoder")
    else:
        save_file(state, out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads(model.config.to_json_string(use_diff=False))
    config.pop("transformers_version", None)
    (out / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def shards(state, out, pickled):
    keys = sorted(state)
    halves = [keys[:len(keys) // 2], keys[len(keys) // 2:]]
    index = {}
    for i, half in enumerate(halves, 1):
        file = f"pytorch_model-0000{i}-of-00002.bin" if pickled else f"model-0000{i}-of-00002.safetensors"
        part = {key: state[key] for key in half}
        torch.save(part, out / file) if pickled else save_file(part, out / file, metadata={"format": "pt"})
        index.update({key: file for key in half})
    name = "pytorch_model.bin.index.json" if pickled else "model.safetensors.index.json"
    (out / name).write_text(json.dumps({"metadata": {}, "weight_map": index}, indent=1) + "\n")


# --- reference values -----------------------------------------------------------------------------------------------

def sequences(vocab, first):
    """Three sequences: the second leaves the first at 60, the third at the end of the common prefix."""
    ids = torch.randint(5, vocab, (3, LONG))
    ids[:, :len(first)] = torch.tensor(first)
    ids[1, :60] = ids[0, :60]
    ids[2, :PREFIX] = ids[0, :PREFIX]
    return ids


def mask(ids, lengths):
    kept = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        kept[row, :length] = 1
        ids[row, length:] = 0
    return kept


def furthest(a, b):
    return (a - b).abs().max().item()


def reference(model, vocab, out):
    lengths = [LONG, MIDDLE, SHORT]
    encoder_decoder = model.config.is_encoder_decoder
    ids = sequences(vocab, [0, vocab - 1] if encoder_decoder else [])
    with torch.no_grad():
        if encoder_decoder:
            # Two prompts, the second padded; the first is read by two of the sequences.
            prompts = torch.randint(5, vocab, (2, 150))
            prompt_mask = mask(prompts, [150, 70])
            which = torch.tensor([0, 0, 1])
            mask(ids, lengths)
            logits = model(input_ids=prompts[which], attention_mask=prompt_mask[which], decoder_input_ids=ids).logits
            alone = model(input_ids=prompts[1:, :70], decoder_input_ids=ids[2:, :SHORT]).logits
        else:
            prompts = torch.zeros(1, 1, dtype=torch.long)
            logits = model(input_ids=ids, attention_mask=mask(ids, lengths)).logits
            alone = model(input_ids=ids[2:, :SHORT]).logits
    print(f"{out.name}: padded and alone {furthest(logits[2:, :SHORT], alone):.1e} apart, "
          f"spread {logits[0].std().item():.2f}, highest {logits[0].abs().max().item():.1f}")
    places = [(row, p) for row, length in enumerate(lengths) for p in POSITIONS if p < length]
    tensors = dict(
        ids=ids.int(), lengths=torch.tensor(lengths).int(), prompts=prompts.int(), places=torch.tensor(places).int(),
        logits=torch.stack([logits[row, p] for row, p in places]).contiguous())
    save_file(tensors, out / "reference.safetensors")


def main():
    hf.logging.set_verbosity_error()
    root, names = Path(sys.argv[1]), sys.argv[2:] or list(MODELS)
    for i, name in enumerate(MODELS):
        if name not in names:
            continue
        torch.manual_seed(i)
        out = root / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        vocab = TOKENIZERS[name](out)
        prompt(name, out)
        model = MODELS[name](vocab).eval()
        dtype = DTYPES.get(name, torch.float16)
        randomise(model, dtype)
        save(name, model, out, dtype)
        reference(model, vocab, out)


main()
