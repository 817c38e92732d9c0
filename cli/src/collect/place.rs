//! Where a process stands in a distributed job, as its launcher told it through its environment.

use super::environment::{self, Variables};

/// A process's place in its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Rank among all processes of the job.
    pub rank: Option<u32>,
    /// Which try of its launcher it belongs to, the first being 0.
    pub attempt: Option<u32>,
}

/// Variables that hold a rank, the most exact first: torchrun and its like, Open MPI, PMIx, PMI, MVAPICH.
const RANKS: [&str; 5] = [
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
];

impl Place {
    /// Of a process that lives and may be looked at.
    pub fn of(pid: u32) -> Option<Self> {
        let variables = environment::of_process(pid);
        (!variables.is_empty()).then(|| Self::in_environment(&variables))
    }

    /// As these variables tell it.
    pub fn in_environment(variables: &Variables) -> Self {
        let number = |name: &str| variables.get(name)?.parse::<u32>().ok();
        // Slurm gives one to the script of a job too, which is no rank of anything.
        let tasks = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"));
        let of_task = || number("SLURM_PROCID").filter(|_| tasks.is_some_and(|tasks| tasks > 1));
        Self {
            rank: RANKS.iter().find_map(|name| number(name)).or_else(of_task),
            attempt: number("TORCHELASTIC_RESTART_COUNT"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    fn rank(variables: &[(&str, &str)]) -> Option<u32> {
        let owned = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Place::in_environment(&owned.collect()).rank
    }

    #[test]
    fn each_launcher_tells_the_rank_in_its_own_way() {
        assert_eq!(rank(&[("RANK", "3"), ("SLURM_PROCID", "1")]), Some(3));
        assert_eq!(rank(&[("OMPI_COMM_WORLD_RANK", "2")]), Some(2));
        assert_eq!(rank(&[("PMI_RANK", "5")]), Some(5));
        assert_eq!(rank(&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")]), Some(1));
        assert_eq!(rank(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]), None);
        assert_eq!(rank(&[("RANK", "none")]), None);
    }
}
