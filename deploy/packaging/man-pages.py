#!/usr/bin/env python3
"""Writes a man page for each command: native-sso --experimental-dump-help | man-pages.py DIRECTORY VERSION DATE"""

import json
import pathlib
import sys


def roff(text):
    """Text for the body of a page. A line must not begin with a control character."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "").split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def name(argument):
    """`--option <value>`, as bold and italic text."""
    names = sorted(argument.get("names") or [], key=lambda n: n["kind"] == "long")
    marks = [("--" if n["kind"] == "long" else "-") + n["name"] for n in names]
    value = argument.get("valueName", "")
    if argument["kind"] == "positional":
        return f"\\fI{roff(value)}\\fR"
    text = ", ".join(f"\\fB{roff(mark)}\\fR" for mark in marks)
    return text if argument["kind"] == "flag" else f"{text} \\fI{roff(value)}\\fR"


def synopsis(argument):
    text = name(argument).split(", ")[-1]
    if argument["isRepeating"]:
        text += " ..."
    return f"[{text}]" if argument["isOptional"] else text


def page(command, path, version, date):
    title = "-".join(path)
    visible = [a for a in command.get("arguments", []) if a.get("shouldDisplay", True)]
    children = [c for c in command.get("subcommands", []) if c["commandName"] != "help"]
    lines = [
        f'.TH {roff(title.upper())} 1 "{date}" "native\\-sso {roff(version)}" "native\\-sso"',
        ".SH NAME",
        f"{roff(title)} \\- {roff(command.get('abstract', '').rstrip('.'))}",
        ".SH SYNOPSIS",
        ".nh",
        ".ad l",
        f"\\fB{roff(' '.join(path))}\\fR" + (" \\fIsubcommand\\fR" if children else ""),
        *(synopsis(a) for a in visible),
        ".ad",
        ".hy",
    ]
    if command.get("discussion"):
        lines += [".SH DESCRIPTION", roff(command["discussion"])]
    if visible:
        lines.append(".SH OPTIONS")
    for argument in visible:
        lines += [".TP", name(argument)]
        texts = [argument.get(key, "").strip() for key in ("abstract", "discussion")]
        text = " ".join(t for t in texts if t)
        if argument.get("allValues"):
            text += f" One of: {', '.join(argument['allValues'])}."
        if argument.get("defaultValue"):
            text += f" Default: {argument['defaultValue']}."
        lines.append(roff(text.strip()) or "\\&")
    if children:
        lines.append(".SH SUBCOMMANDS")
    for child in children:
        lines += [".TP", f"\\fB{roff('-'.join(path + [child['commandName']]))}\\fR(1)", roff(child.get("abstract", ""))]
    lines += [
        ".SH EXIT STATUS",
        ".TP", "0", "Done.",
        ".TP", "1", "Refused, or not found.",
        ".TP", "2", "A mistake on the command line, in the environment or in a file named there.",
        ".TP", "3", "Something that the command needs does not work.",
        ".SH SEE ALSO",
        f"\\fB{roff('-'.join(path[:-1]))}\\fR(1)," if len(path) > 1 else "\\fBnative\\-sso\\-serve\\fR(1),",
        "/usr/share/doc/native\\-sso/guide/README.md",
    ]
    return "\n".join(lines) + "\n"


def write(command, path, directory, version, date):
    (directory / ("-".join(path) + ".1")).write_text(page(command, path, version, date), encoding="utf-8")
    for child in command.get("subcommands", []):
        if child["commandName"] != "help":
            write(child, path + [child["commandName"]], directory, version, date)


directory, version, date = sys.argv[1:]
top = json.load(sys.stdin)["command"]
write(top, [top["commandName"]], pathlib.Path(directory), version, date)
