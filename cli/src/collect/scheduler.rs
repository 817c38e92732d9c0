//! Which job of which scheduler this is, by the variables that schedulers set.

use serde_json::{Map, Value, json};

use super::environment::Variables;

/// A scheduler and its variables, of each kind the most exact first.
struct Scheduler {
    name: &'static str,
    /// Set wherever it runs something.
    sign: &'static str,
    job: &'static [&'static str],
    job_name: &'static [&'static str],
    task: &'static [&'static str],
    attempt: &'static [&'static str],
    node: &'static [&'static str],
}

/// Outer ones after what may run within them: SkyPilot and Ray start their clusters on others.
const SCHEDULERS: [Scheduler; 7] = [
    Scheduler {
        name: "skypilot",
        sign: "SKYPILOT_TASK_ID",
        job: &["SKYPILOT_TASK_ID"],
        job_name: &["SKYPILOT_JOB_NAME"],
        task: &[],
        attempt: &[],
        node: &["SKYPILOT_NODE_RANK"],
    },
    Scheduler {
        name: "ray",
        sign: "RAY_JOB_ID",
        job: &["RAY_JOB_ID"],
        job_name: &[],
        task: &["RAY_TASK_ID"],
        attempt: &[],
        node: &["RAY_NODE_ID"],
    },
    Scheduler {
        name: "slurm",
        sign: "SLURM_JOB_ID",
        job: &["SLURM_JOB_ID"],
        job_name: &["SLURM_JOB_NAME"],
        task: &["SLURM_ARRAY_TASK_ID"],
        attempt: &["SLURM_RESTART_COUNT"],
        node: &["SLURMD_NODENAME", "SLURM_NODEID"],
    },
    Scheduler {
        name: "lsf",
        sign: "LSB_JOBID",
        job: &["LSB_JOBID"],
        job_name: &["LSB_JOBNAME"],
        task: &["LSB_JOBINDEX"],
        attempt: &[],
        node: &[],
    },
    Scheduler {
        name: "pbs",
        sign: "PBS_JOBID",
        job: &["PBS_JOBID"],
        job_name: &["PBS_JOBNAME"],
        task: &["PBS_ARRAY_INDEX"],
        attempt: &[],
        node: &["PBS_NODENUM"],
    },
    // What names the job there is not set by itself: docs/collector.md has the lines of a manifest that do.
    Scheduler {
        name: "kubernetes",
        sign: "KUBERNETES_SERVICE_HOST",
        job: &["JOB_NAME", "POD_NAME"],
        job_name: &["POD_NAME"],
        task: &["JOB_COMPLETION_INDEX"],
        attempt: &[],
        node: &["NODE_NAME"],
    },
    Scheduler {
        name: "torchrun",
        sign: "TORCHELASTIC_RUN_ID",
        job: &["TORCHELASTIC_RUN_ID"],
        job_name: &[],
        task: &[],
        attempt: &["TORCHELASTIC_RESTART_COUNT"],
        node: &["GROUP_RANK"],
    },
];

/// What these variables tell, where there is a scheduler.
pub fn told(variables: &Variables) -> Option<Map<String, Value>> {
    let scheduler = SCHEDULERS
        .iter()
        .find(|scheduler| variables.contains_key(scheduler.sign))?;
    let first = |names: &[&str]| names.iter().find_map(|name| variables.get(*name));
    let members = [
        ("job", first(scheduler.job)),
        ("job_name", first(scheduler.job_name)),
        ("task", first(scheduler.task)),
        ("attempt", first(scheduler.attempt)),
        ("node", first(scheduler.node)),
    ];
    let mut told = Map::from_iter([("name".to_owned(), json!(scheduler.name))]);
    told.extend(
        members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))),
    );
    Some(told)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::told;

    fn scheduler(variables: &[(&str, &str)]) -> Value {
        let owned = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        told(&owned.collect()).map_or(Value::Null, Value::Object)
    }

    #[test]
    fn a_requeued_task_of_an_array_is_told_apart() {
        let slurm = [
            ("SLURM_JOB_ID", "4712"),
            ("SLURM_JOB_NAME", "pretrain"),
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("SLURM_RESTART_COUNT", "2"),
            ("SLURMD_NODENAME", "node7"),
        ];
        let expected = json!({"name": "slurm", "job": "4712", "job_name": "pretrain", "task": "3", "attempt": "2", "node": "node7"});
        assert_eq!(scheduler(&slurm), expected);
    }

    #[test]
    fn what_runs_on_a_cluster_within_a_cluster_is_the_inner_ones() {
        let nested = [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("RAY_JOB_ID", "02000000")];
        assert_eq!(scheduler(&nested), json!({"name": "ray", "job": "02000000"}));
        assert_eq!(scheduler(&[("PATH", "/bin")]), Value::Null);
    }
}
