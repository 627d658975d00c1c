"""Which format a model's name means: names as people, hubs and services write them."""

from __future__ import annotations

import pytest

from toolwire import Message, render_prompt
from toolwire.embedded.models import TRAINED, trained_format
from toolwire.embedded.registry import choose_format, format_of_model, is_format
from toolwire.errors import ConfigError

NAMES = {
    "hermes": [
        "Qwen/Qwen2.5-7B-Instruct",
        "qwen2.5:7b",
        "qwen3:30b-a3b",
        "accounts/fireworks/models/qwen2p5-72b-instruct",
        "Qwen-QwQ-32B",
        "NousResearch/Hermes-3-Llama-3.1-8B",
        "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use",
        "DeepHermes-3-Mistral-24B-Preview",
        "HuggingFaceTB/SmolLM3-3B",
        "arcee-ai/Trinity-Mini",
        "speakleash/Bielik-11B-v3.0-Instruct",
        "XiaomiMiMo/MiMo-VL-7B-RL",
    ],
    "qwen3-coder": [
        "Qwen/Qwen3-Coder-480B-A35B-Instruct",
        "qwen3-coder:30b",
        "Qwen/Qwen3.5-4B",
        "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
        "XiaomiMiMo/MiMo-V2-Flash",
        "stepfun-ai/Step-3.5-Flash",
        "StepFun3.7-Flash",
    ],
    "llama3-json": ["meta-llama/Llama-3.1-8B-Instruct", "llama3.2:3b", "Meta-Llama-3.3-70B-Instruct"],
    "pythonic": ["meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4:scout", "Team-ACE/ToolACE-8B"],
    "mistral-v3": ["mistralai/Mistral-Nemo-Instruct-2407", "mistral:7b", "Mistral-Small-3.1-24B-Instruct-2503"],
    "mistral-v11": [
        "mistralai/Devstral-Small-2507",
        "unsloth-mistral-Devstral-Small-2507",
        "Mistral-Small-3.2-24B-Instruct-2506",
        "mistral-small3.2",
        "Magistral-Small-2509",
        "mistralai/Ministral-3-14B-Reasoning-2512",
    ],
    "deepseek-v3": ["deepseek-ai/DeepSeek-R1-0528", "deepseek-r1:14b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"],
    "deepseek-v31": ["deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-ai/DeepSeek-V3.2-Exp"],
    "deepseek-v32": ["deepseek-ai/DeepSeek-V3.2", "accounts/fireworks/models/deepseek-v3p2"],
    "deepseek-v4": ["deepseek-ai/DeepSeek-V4", "deepseek-v4.1"],
    "kimi-k2": ["moonshotai/Kimi-K2-Instruct-0905", "moonshotai-Kimi-K2-Thinking", "kimi-k2.5"],
    "kimi-k3": ["moonshotai/Kimi-K3"],
    "glm45": ["zai-org/GLM-4.5-Air", "GLM-4.6"],
    "glm47": ["zai-org/GLM-4.7-Flash", "zai-org/GLM-5", "inclusionAI/Ling-3-flash", "Spark2.5"],
    "poolside-v1": ["poolside/Laguna-M"],
    "minimax-m1": ["MiniMaxAI/MiniMax-M1-80k"],
    "minimax-m2": ["MiniMaxAI/MiniMax-M2.5", "minimax-m2:cloud"],
    "minimax-m3": ["MiniMaxAI/MiniMax-M3"],
    "harmony": ["openai/gpt-oss-120b", "gpt-oss:20b"],
    "granite": ["ibm-granite/granite-3.3-8b-instruct"],
    "granite4": ["ibm-granite/granite-4.0-h-small", "granite4:micro"],
    "granite-20b-fc": ["ibm-granite/granite-20b-functioncalling"],
    "phi4-mini": ["microsoft/Phi-4-mini-instruct", "fireworks-ai-llama-3-firefunction-v2"],
    "jamba": ["ai21labs/AI21-Jamba-Mini-1.7"],
    "hunyuan-a13b": ["tencent/Hunyuan-A13B-Instruct"],
    "apriel": ["unsloth-Apriel-1.5", "ServiceNow-AI/Apriel-1.6-15b-Thinker"],
    "hy-v3": ["tencent/Hy3-preview", "tencent/Hunyuan-3"],
    "nemotron": ["nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nvidia/Llama-3_3-Nemotron-Super-49B-v1_5"],
    "internlm2": ["internlm/internlm2_5-7b-chat"],
    "interns1": ["internlm/Intern-S1"],
    "xlam": ["Salesforce/Llama-xLAM-2-8b-fc-r"],
    "cohere3": ["CohereForAI/c4ai-command-r7b-12-2024", "command-a-03-2025"],
    "cohere4": ["CohereLabs/command-a-plus-05-2026", "Cohere2MoE"],
    "command-r": ["CohereForAI/c4ai-command-r-plus", "command-r:35b"],
    "apertus": ["swiss-ai/Apertus-8B-Instruct-2509"],
    "gigachat3": ["ai-sage/GigaChat3.1-10B-A1.8B"],
    "functionary": ["meetkai/functionary-medium-v3.1"],
    "solar": ["upstage/Solar-Open-100B"],
    "seed-oss": ["ByteDance-Seed/Seed-OSS-36B-Instruct"],
    "step3": ["stepfun-ai/step3"],
    "dots": ["rednote-hilab/dots.llm1.inst"],
    "minicpm5": ["openbmb/MiniCPM5-8B"],
    "functiongemma": ["google/functiongemma-270m-it"],
    "gemma3": ["google/gemma-3-27b-it", "gemma3:12b"],
    "gemma4": ["google/gemma-4-31B-it"],
    "olmo3": ["allenai/Olmo-3-7B-Instruct"],
    "lfm2": ["LiquidAI/LFM2-8B-A1B", "LiquidAI/LFM2.5-1.2B-Instruct"],
    "longcat": ["meituan-longcat/LongCat-Flash-Chat"],
    "ernie45": ["baidu/ERNIE-4.5-21B-A3B-Thinking"],
    "inkling": ["Inkling-12B"],
    "plamo3": ["pfnet/plamo-3-nict-8b"],
    "muse-glimmer": ["Muse-Glimmer"],
    "k2-horizon": ["LLM360/K2-Horizon"],
    "xml": ["claude-sonnet-4-5", "anthropic/claude-opus-4.1"],
    "": ["gpt-4o", "sonar-pro", "gemini-2.5-pro", "grok-4", "phi-3.5-mini", "stringhermesian", "", "a-model"],
}


@pytest.mark.parametrize(("name", "models"), NAMES.items())
def test_a_models_name_means_a_format(name: str, models: list[str]) -> None:
    assert {model: trained_format(model) for model in models} == dict.fromkeys(models, name)


def test_every_row_names_a_format_and_is_reached() -> None:
    for pattern, name in TRAINED:
        assert is_format(name), pattern
        assert trained_format(pattern.replace("*", "-x-")) == name, pattern


@pytest.mark.parametrize(
    "model", ["inclusionAI/Ling-3-flash", "Spark2.5", "meetkai/functionary-small-v3.2", "reka-edge"]
)
def test_a_model_with_other_turns_than_its_family_has_no_prompt_by_its_name(model: str) -> None:
    assert format_of_model(model) is not None
    with pytest.raises(ConfigError, match="in other turns"):
        render_prompt([Message("user", "Hi")], model=model)
    assert render_prompt([Message("user", "Hi")], format=trained_format(model), model=model).text


def test_what_is_chosen_for_a_model_is_what_it_was_trained_on() -> None:
    assert choose_format(model="Qwen/Qwen2.5-7B-Instruct").name == "hermes"
    assert choose_format(model="some-model").name == "json"
    assert format_of_model("some-model") is None
