# SPDX-License-Identifier: GPL-2.0
# A sweep: one job is one run. Snakemake gives resume (a finished run is not run again), and a
# cluster when one machine is too small. Started by sweep.py, whose `config` has the runs by the
# name of their directory.

RUN = workflow.basedir + "/../../../netns-scenarios/run"


rule all:
    input:
        expand("{name}/result.json", name=config["runs"]),


rule one:
    output:
        "{name}/result.json",
    params:
        words=lambda wildcards: config["runs"][wildcards.name]["words"],
    shell:
        "{RUN} {params.words:q} --out {wildcards.name:q} >/dev/null"
