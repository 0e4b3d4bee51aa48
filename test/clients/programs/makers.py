# The official Python clients of both conventions, whole and streamed, each with a tool.
import json
import os

from anthropic import Anthropic
from openai import OpenAI

ORIGIN, MODEL, KEY = (os.environ["PENSTOCK_" + name] for name in ("ORIGIN", "MODEL", "KEY"))
QUESTION = "When is high tide at Lisbon?"
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
openai = OpenAI(base_url=ORIGIN + "/v1", api_key=KEY, max_retries=0)
anthropic = Anthropic(base_url=ORIGIN, api_key=KEY, max_retries=0)
calls = []


def look_up(place):
    calls.append(place)
    return f"High tide at {place} is at noon."


def tell(way, ask):
    calls.clear()
    try:
        print(json.dumps({"way": way, "text": ask(), "calls": calls}))
    except Exception as fault:
        print(json.dumps({"way": way, "fault": repr(fault), "calls": calls}))


def chat(streamed):
    messages = [{"role": "user", "content": QUESTION}]
    function = {"name": "look_up", "description": "Looks up.", "parameters": SCHEMA}
    request = {"model": MODEL, "messages": messages, "tools": [{"type": "function", "function": function}]}
    while True:
        if streamed:
            with openai.chat.completions.stream(**request) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = openai.chat.completions.create(**request).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.to_dict())
        for call in message.tool_calls:
            said = look_up(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})


def responses(streamed):
    items = [{"role": "user", "content": QUESTION}]
    tool = {"type": "function", "name": "look_up", "parameters": SCHEMA, "strict": False}
    while True:
        request = {"model": MODEL, "input": items, "tools": [tool]}
        if streamed:
            with openai.responses.stream(**request) as stream:
                response = stream.get_final_response()
        else:
            response = openai.responses.create(**request)
        asked = [item for item in response.output if item.type == "function_call"]
        if not asked:
            return response.output_text
        items.extend(item.to_dict() for item in response.output)
        for call in asked:
            said = look_up(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": said})


def messages(streamed):
    turns = [{"role": "user", "content": QUESTION}]
    tool = {"name": "look_up", "description": "Looks up.", "input_schema": SCHEMA}
    while True:
        request = {"model": MODEL, "max_tokens": 1000, "messages": turns, "tools": [tool]}
        if streamed:
            with anthropic.messages.stream(**request) as stream:
                message = stream.get_final_message()
        else:
            message = anthropic.messages.create(**request)
        asked = [block for block in message.content if block.type == "tool_use"]
        if not asked:
            return "".join(block.text for block in message.content if block.type == "text")
        turns.append({"role": "assistant", "content": message.content})
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": look_up(**call.input)} for call in asked
        ]
        turns.append({"role": "user", "content": results})


for name, ask in (("chat", chat), ("responses", responses), ("messages", messages)):
    tell(name, lambda: ask(False))
    tell(name + ", streamed", lambda: ask(True))
