//! Says for which target this is built.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-env=WHYCRASH_TARGET={}",
        std::env::var("TARGET").unwrap_or_default()
    );
}
