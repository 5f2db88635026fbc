#!/usr/bin/env python3
"""A campaign as a HyperQueue job, one task for each shard, and its report when all are through.

Needs the PyPI package `hyperqueue`. A server with workers runs already, or --local starts one here.
A shard that is killed begins again on its worker (shard.sh); one whose worker goes away is given to another.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import hyperqueue
import hyperqueue.cluster
from hyperqueue.ffi.protocol import ResourceRequest

HERE = pathlib.Path(__file__).resolve().parent
# How many workers a task may bring down before it is to blame.
CRASHES = 5


def submit(client, options, repair):
    job = hyperqueue.Job(max_fails=None, default_env=dict(os.environ, REPAIR=repair), name="repair")
    logs = options.dir / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for shard in range(1, options.shards + 1):
        job.program(
            [str(HERE / "shard.sh"), str(shard), str(options.shards), str(options.dir), *options.args],
            cwd=os.getcwd(),
            stdout=str(logs / f"shard-{shard}.log"),
            stderr=str(logs / f"shard-{shard}.err"),
            resources=ResourceRequest(cpus=options.cpus),
            crash_limit=CRASHES,
        )
    return client.wait_for_jobs([client.submit(job)], raise_on_error=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--local", type=int, metavar="W", help="start a server and W workers here, for this job only")
    parser.add_argument("--cpus", type=int, default=1, help="cores of each shard")
    parser.add_argument("shards", type=int)
    parser.add_argument("dir", type=lambda text: pathlib.Path(text).resolve(), help="the campaign, which all workers see")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="those of `repair campaign`: sets, -n, --variant, ...")
    options = parser.parse_args()
    repair = os.environ.get("REPAIR", "repair")
    if options.local:
        with hyperqueue.cluster.LocalCluster() as cluster:
            for _ in range(options.local):
                cluster.start_worker(hyperqueue.cluster.WorkerConfig(cores=options.cpus))
            done = submit(cluster.client(), options, repair)
    else:
        done = submit(hyperqueue.Client(), options, repair)
    report = options.dir / "report.html"
    with report.open("wb") as out:
        subprocess.run([repair, "report", str(options.dir), "--format", "html"], stdout=out, check=True)
    print(f"{'all shards are done' if done else 'some shards failed, see logs'}; the report is {report}")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
