"""What schemathesis needs to know of Penstock beyond its descriptions: `SCHEMATHESIS_HOOKS` names this file."""

import itertools
import os
import re
from collections import Counter

import requests
import schemathesis
from schemathesis.checks import CHECKS, load_all_checks

# Each call comes from an address of its own, so that those without a key meet no window that others have used up.
calls = itertools.count(1)
send = requests.adapters.HTTPAdapter.send


def send_from_next_address(adapter, request, **how):
    at = next(calls)
    request.headers["X-Forwarded-For"] = f"10.{at >> 16 & 255}.{at >> 8 & 255}.{at & 255}"
    return send(adapter, request, **how)


# A hook of schemathesis would miss the calls that its checks repeat without a key.
requests.adapters.HTTPAdapter.send = send_from_next_address

# Refusals of data that fit the schema, for reasons that JSON Schema cannot say. Any other refusal is a fault of the schema.
REASONS = [
    # A model is one that this installation has for that kind of work, and each has inputs and limits of its own.
    r"Unknown model: .*",
    r"Unknown model input: .*",
    r"Model \S+ (finds nothing to say in this text|speaks text in Latin letters only)",
    r"(\w+|messages\[.*): \S+ (answers in text only|does not take audio)",
    r"web_search_options is not supported: web_search is",
    r"voice must be one of .*, or come with reference_audio",
    r"duration_seconds exceeds maximum",
    # A time zone is one that is known.
    r"time_zone must be a name such as Europe/Berlin",
    # Files are judged by what they hold, and addresses by where they lead.
    r"(\S+) must be an http\(s\) URL, a data: URL or base64 data",
    r"(\S+) must be a JPEG, PNG(, WebP or GIF| or WebP) image",
    r"\w+ must be audio: .*",
    r"Unsupported (file|attachment) type",
    r"Invalid URL",
    # A tool of an MCP server is one that the operator has made.
    r"Invalid tools",
    # Relations of two values.
    r"until must (be after|not be before) since",
    r"max_tokens must be greater than thinking\.budget_tokens",
    r"tool_choice: (there is no tool (named|of type) .*|.* is not available here)",
    r"(input|messages)\[\d+\](\.content\[\d+\])?: (No tool call found for the output with call_id|there is no tool_use with the id) .*",
    # What all items or messages say together is something.
    r"messages(\[\d+\]\.content)? must be (a string or )?a non-empty array( of parts)?",
    r"input must not be empty",
    # What a call goes on from, or ends, is there and in the right state.
    r"Previous response with id .* not found",
    r"input\[\d+\]: Item with id .* not found",
    r"Last-Event-ID is beyond the last event \(\d+\)",
    r"Cannot cancel (completed|failed|cancelled) job",
]
# schemathesis fails to judge a part of bytes by rules between fields: the description has these for JSON bodies only.
REASONS_OF_FORMS = [
    r"\w+ is required( for \w+)?",
    r"\w+ does not apply to \w+",
    r"background transparent needs the operation backgroundRemoval",
    r"output_format jpeg has no transparency",
]


def one_of(reasons):
    return re.compile("|".join(f"(?:{reason})" for reason in reasons), re.DOTALL)


EXPLAINED = {True: one_of(REASONS + REASONS_OF_FORMS), False: one_of(REASONS)}

load_all_checks()
accepts = CHECKS.get_one("positive_data_acceptance")


def message_of(response):
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return ""
    return error["message"] if isinstance(error, dict) else error


def positive_data_acceptance(ctx, response, case):
    is_form = case.media_type == "multipart/form-data"
    if response.status_code == 400 and EXPLAINED[is_form].fullmatch(message_of(response)):
        return None
    return accepts(ctx, response, case)


CHECKS.register(positive_data_acceptance)

# The short run tries the first 4 cases of each kind that an operation has, and of its further ones ever fewer: 2 of each doubling. It
# leaves out speeches of many minutes.
IS_SHORT = os.environ.get("SCHEMATHESIS_SHORT") == "1"
MOST_CHARACTERS = 1_000
kinds = Counter()


def is_long_speech(case):
    body = case.body if isinstance(case.body, dict) else {}
    text = body.get("input")
    return case.operation.path == "/audio/speech" and isinstance(text, str) and len(text) > MOST_CHARACTERS


@schemathesis.hook
def filter_case(context, case):
    if not IS_SHORT or case.meta is None or case.meta.phase.name.value != "coverage":
        return True
    if is_long_speech(case):
        return False
    kind = (case.operation.label, case.meta.phase.data.scenario)
    at = kinds[kind]
    kinds[kind] += 1
    return at % (1 << max(0, at.bit_length() - 2)) == 0
