# SPDX-License-Identifier: Apache-2.0
"""What xprof, TensorBoard's profile plug-in, answers to a browser that looks at a directory.

    xprof_answers.py LOGDIR TOOL[=HOST,...]...

Runs in the Python that has xprof. Prints one JSON object: {"runs": {run: {"tools": [...],
"hosts": [...]}}, "files": {name: planes}, "answers": [...]}. Planes are as xplane_file.read() gives
them. Each TOOL is asked for the last of the runs, and for the hosts behind it or for all of them,
through the web application that a browser talks to.
"""

import gzip
import json
import pathlib
import sys

import xplane_file
from werkzeug.test import Client
from xprof import server


class Browser:
    def __init__(self, logdir):
        provider = server.DataProvider(logdir)
        context = server.TBContext(logdir, provider, server.TBContext.Flags(False))
        context.hide_capture_profile_button = True
        context.enable_tab_name_label = False
        context.src_prefix = None
        self.client = Client(server.make_wsgi_app(server.ProfilePluginLoader().load(context)))

    def get(self, route, **query):
        response = self.client.get(f"/data/plugin/profile/{route}", query_string=query)
        if response.status_code != 200:
            raise SystemExit(f"{route} {query}: {response.status} {response.get_data(True)[:500]}")
        data = response.get_data()
        if response.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        return json.loads(data)

    def ask(self, run, request, hosts):
        tool, _, wanted = request.partition("=")
        wanted = wanted.split(",") if wanted else hosts
        query = {"run": run, "tag": tool}
        if tool == "trace_viewer@":
            query.update(hosts=",".join(wanted), resolution=100000, format="json")
        else:
            query["host"] = wanted[0] if len(wanted) == 1 else "ALL_HOSTS"
            # It would answer for one host what it has found for another, or for all.
            query["use_saved_result"] = "false"
        return self.get("data", **query)


def main(logdir, requests):
    browser = Browser(logdir)
    runs = {}
    for run in browser.get("runs"):
        tools = browser.get("run_tools", run=run)
        hosts = browser.get("hosts", run=run, tag="trace_viewer@")
        runs[run] = {"tools": tools, "hosts": [host["hostname"] for host in hosts]}
    last = sorted(runs)[-1]
    directory = pathlib.Path(logdir) / "plugins" / "profile" / last
    files = {path.name: xplane_file.read(path) for path in directory.glob("*.xplane.pb")}
    answers = [browser.ask(last, request, runs[last]["hosts"]) for request in requests]
    print(json.dumps({"runs": runs, "files": files, "answers": answers}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
