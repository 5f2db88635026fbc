#!/usr/bin/env python3
"""The bundle's questions beside stock `textDocument/completion`, in one server, at the same carets of one file.

    stock.py --project DIR [--classpath JARS] --file FILE [--lines N] [--java FILE] [--jdk DIR]

Every line that is a statement without braces is a hole. For each name in it both sides are asked what may stand there:
the stock server for a completion after the name's first letter, in a document that ends the line there, as the
literature does for each token; ours for the members of the receiver, or once per hole for what is visible. The processor time
is that of the whole server, read from /proc, so that work in other threads counts. A name that a list lacks would be refused.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time

NAME = re.compile(r"[A-Za-z_$][\w$]*")
KEYWORDS = set(
    "abstract assert boolean break byte case catch char class const continue default do double else enum extends final "
    "finally float for goto if implements import instanceof int interface long native new null package private protected "
    "public return short static strictfp super switch synchronized this throw throws transient true false try void "
    "volatile while var".split()
)


class Server:
    def __init__(self, args, cache, state):
        home = cache / "jdtls"
        shutil.copytree(home / "configuration", state / "configuration")
        config = state / "configuration" / "config.ini"
        text = config.read_text()
        bundles = [b for b in re.search(r"^osgi.bundles=(.*)$", text, re.M)[1].split(",")
                   if "kotlin_" not in b and "antlr4-runtime_" not in b]
        config.write_text(re.sub(r"^osgi.bundles=.*$", lambda _: "osgi.bundles=" + ",".join(bundles), text, flags=re.M))
        launcher = max((home / "plugins").glob("org.eclipse.equinox.launcher_*.jar"))
        self.process = subprocess.Popen(
            [args.java, "-Declipse.application=org.eclipse.jdt.ls.core.id1",
             "-Declipse.product=org.eclipse.jdt.ls.core.product", "-Dosgi.bundles.defaultStartLevel=4",
             "-Djava.util.concurrent.ForkJoinPool.common.parallelism=4", "-XX:+UseSerialGC", "-Xmx1500M",
             "--add-modules=ALL-SYSTEM", "--add-opens=java.base/java.util=ALL-UNNAMED",
             "--add-opens=java.base/java.lang=ALL-UNNAMED", f"-Duser.home={state}", "-jar", launcher,
             "-configuration", state / "configuration", "-data", state / "data"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number = 0
        bundle = cache / "lib" / "repair-jdtls.jar"
        self.ask("initialize", {
            "processId": os.getpid(), "rootUri": None, "capabilities": {},
            "initializationOptions": {"bundles": [str(bundle)], "settings": {"java": {
                "autobuild": {"enabled": False},
                "import": {"maven": {"enabled": False}, "gradle": {"enabled": False}}}}}})
        self.tell("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            length = 0
            while (line := self.process.stdout.readline()) != b"\r\n":
                if not line:
                    raise SystemExit("the server has ended")
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            message = json.loads(self.process.stdout.read(length))
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": None})

    def command(self, name, arguments):
        return self.ask("workspace/executeCommand", {"command": f"repair.{name}", "arguments": [arguments]})

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Timed:
    """Questions of one kind: wall time of each, processor time of the whole server and, where it is told, of the thread."""

    def __init__(self, server):
        self.server, self.wall, self.cpu, self.thread, self.missing = server, [], 0.0, [], []

    def ask(self, question):
        cpu, started = self.server.cpu_seconds(), time.monotonic()
        answer = question()
        self.wall.append(time.monotonic() - started)
        self.cpu += self.server.cpu_seconds() - cpu
        if isinstance(answer, dict) and "cpu_micros" in answer:
            self.thread.append(answer["cpu_micros"])
            answer = answer["value"]
        return answer

    def row(self, name, n_names):
        at = lambda share: sorted(self.wall)[int(share * (len(self.wall) - 1))] * 1000
        print(f"{name} | {len(self.wall)} | {len(self.wall) / n_names:.2f} | {at(.5):.1f} | {at(.9):.1f} | {at(.99):.1f} | "
              f"{statistics.median(self.thread or [0]) / 1000:.1f} | {1000 * self.cpu / len(self.wall):.1f} | "
              f"{1000 * self.cpu / n_names:.1f} | {len(self.missing)}")


def holes(text, wanted):
    """Lines that are a statement by themselves, as (first byte, last byte) of the text."""
    lines, at, found = text.split("\n"), 0, []
    for before, line in zip([""] + lines, lines):
        statement = re.match(r"\s{4,}(?!//|\*|/\*|case |default:|return;|break|continue)[^{}\"'@]*;$", line)
        if statement and re.search(r"[;{}]\s*$", before) and "." in line and len(line) < 120:
            found.append((at, at + len(line)))
        at += len(line) + 1
    random.Random(0).shuffle(found)
    return sorted(found[:wanted])


def names(line):
    """Names in use with their places: not keywords, nor what is being declared."""
    for match in NAME.finditer(line):
        before, after = line[:match.start()].rstrip(), line[match.end():].lstrip()
        declared = before and (before[-1].isalnum() or before[-1] in ">]") and not re.search(r"\b(return|new|throw|in)$", before)
        if match[0] not in KEYWORDS and not declared and not match[0][0].isdigit():
            yield match.start(), match[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--project", required=True)
    parser.add_argument("--classpath", default="")
    parser.add_argument("--file", required=True)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--level", type=int, default=8)
    parser.add_argument("--java", required=True, help="Java 21 or newer for the server")
    parser.add_argument("--jdk", required=True, help="the project's JDK")
    args = parser.parse_args()
    cache = pathlib.Path(os.environ.get("REPAIR_HOME") or pathlib.Path.home() / ".cache" / "repair")
    path = pathlib.Path(args.file).resolve()
    text = path.read_text()
    with tempfile.TemporaryDirectory() as state:
        server = Server(args, cache, pathlib.Path(state))
        server.command("project", {
            "sources": [str(pathlib.Path(args.project).resolve())], "tests": [], "jre": args.jdk, "level": args.level,
            "libs": [jar for jar in args.classpath.split(":") if jar], "encoding": "UTF-8"})
        uri, version = path.as_uri(), 1
        server.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "java", "version": 1, "text": text}})
        stock, members, visible, opened, checked = (Timed(server) for _ in range(5))
        n_names = 0
        for start, end in holes(text, args.lines):
            prefix, line, suffix = text[:start], text[start:end], text[end:]
            opened.ask(lambda: server.command("open", {
                "session": "stock", "path": str(path), "prefix": prefix, "original": line, "suffix": suffix,
                "closed": 0, "opened": 0}))
            checked.ask(lambda: server.command("check", {"session": "stock", "hole": line, "recover": False}))
            lists, receivers = {}, {}
            for at, name in names(line):
                n_names += 1
                version += 1
                caret = start + at + 1
                changed = text[:caret] + suffix
                position = {"line": prefix.count("\n"), "character": at + 1}

                def complete():
                    server.tell("textDocument/didChange", {
                        "textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": changed}]})
                    return server.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": position})

                answer = stock.ask(complete)
                items = answer["items"] if isinstance(answer, dict) else answer or []
                labels = {NAME.match(item["label"])[0] for item in items if NAME.match(item["label"])}
                if name not in labels:
                    stock.missing.append(name)
                before = line[:at].rstrip()
                if before.endswith("."):
                    if before not in receivers:
                        receivers[before] = members.ask(lambda: server.command("complete", {
                            "session": "stock", "hole": before, "scope": "members", "timeout_ms": 5000}))
                    verdict = receivers[before]
                    if verdict["kind"] == "list" and name not in verdict["names"]:
                        members.missing.append(name)
                    continue
                known = False
                for scope in ["names", "types"]:
                    first = "" if scope == "names" else name[0]
                    if (scope, first) not in lists:
                        lists[scope, first] = visible.ask(lambda: server.command("visible", {
                            "session": "stock", "scope": scope, "first": first, "timeout_ms": 5000}))
                    verdict = lists[scope, first]
                    known = known or verdict["kind"] != "list" or name in verdict["names"]
                    if known:
                        break
                if not known:
                    visible.missing.append(name)
        print(f"{args.lines} holes, {n_names} names")
        print("question | asked | per name | p50 ms | p90 ms | p99 ms | thread's cpu ms, p50 | cpu ms each | cpu ms per name | names missing")
        stock.row("stock completion", n_names)
        members.row("ours, members", n_names)
        visible.row("ours, visible", n_names)
        opened.row("ours, opening the hole", n_names)
        checked.row("ours, end check", n_names)
        print("missing in stock:", sorted(set(stock.missing)))
        print("missing in ours:", sorted(set(members.missing + visible.missing)))
        server.process.kill()


main()
