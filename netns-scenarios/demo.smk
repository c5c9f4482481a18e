# SPDX-License-Identifier: GPL-2.0
# The demo's sweep: one job is one run of the dumbbell. Snakemake gives resume (a finished run is
# not run again), and `--executor slurm` when one machine is too small. Started by `demo`, which
# passes in `config` the runs: a name to the words after `run`.

RUN = workflow.basedir + "/run"


rule all:
    input:
        expand("{name}/result.json", name=config["runs"]),


rule one:
    output:
        "{name}/result.json",
    params:
        words=lambda wildcards: config["runs"][wildcards.name],
    shell:
        "{RUN} {params.words:q} --out {wildcards.name} >/dev/null"
