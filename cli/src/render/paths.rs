//! Paths as people say them.

/// Columns that a path may take on its own.
const ROOM: usize = 48;

/// A source path without the part that tells nothing: what comes before `site-packages`, the interpreter's own
/// folder, the current folder, the home folder; and without its middle when it is still long.
pub fn short(path: &str) -> String {
    let installed = ["/site-packages/", "/dist-packages/"]
        .iter()
        .find_map(|mark| path.split_once(mark));
    if let Some((_, inside)) = installed {
        return inside.to_owned();
    }
    if let Some(standard) = in_standard_library(path) {
        return standard.to_owned();
    }
    let here = std::env::current_dir().ok().and_then(|here| below(path, &here));
    let home = || Some(format!("~/{}", below(path, &std::env::home_dir()?)?));
    elide(&here.or_else(home).unwrap_or_else(|| path.to_owned()))
}

/// A path as it is named from the current folder where it lies below that; else as it is.
pub fn from_here(path: &str) -> String {
    let here = std::env::current_dir().ok();
    here.and_then(|here| below(path, &here))
        .unwrap_or_else(|| path.to_owned())
}

/// The last component of a path.
pub fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `python3.12/threading.py` of `/usr/lib/python3.12/threading.py`.
fn in_standard_library(path: &str) -> Option<&str> {
    let (_, inside) = path.split_once("/lib/python3.")?;
    path.get(path.len() - inside.len() - "python3.".len()..)
}

fn below(path: &str, folder: &std::path::Path) -> Option<String> {
    let rest = std::path::Path::new(path).strip_prefix(folder).ok()?;
    (folder.components().count() > 1).then(|| rest.display().to_string())
}

/// Keeps the last components that fit.
fn elide(path: &str) -> String {
    if path.chars().count() <= ROOM {
        return path.to_owned();
    }
    let mut kept = String::new();
    for part in path.rsplit('/') {
        if !kept.is_empty() && kept.chars().count() + part.chars().count() + 3 > ROOM {
            break;
        }
        kept = if kept.is_empty() {
            part.to_owned()
        } else {
            format!("{part}/{kept}")
        };
    }
    format!("…/{kept}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn paths_keep_what_tells_something() {
        let cases = [
            (
                "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py",
                "torch/nn/functional.py",
            ),
            ("/usr/lib/python3.12/threading.py", "python3.12/threading.py"),
            ("/srv/train.py", "/srv/train.py"),
            (
                "/srv/a-rather-long-folder/of-some-project/with/many/levels/train.py",
                "…/of-some-project/with/many/levels/train.py",
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(short(path), expected, "{path}");
        }
    }
}
