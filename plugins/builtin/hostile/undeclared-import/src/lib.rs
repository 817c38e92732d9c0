//! A plugin that also wants to know what time it is.
#![expect(clippy::same_length_and_capacity, reason = "in generated code")]

wit_bindgen::generate!({
    inline: r#"
        package hostile:undeclared-import;

        world wants-a-clock {
            include whycrash:plugin/plugin@1.1.0;
            import whycrash-hostile: interface {
                now: func() -> u64;
            }
        }
    "#,
    path: "../../../wit/v1",
    world: "hostile:undeclared-import/wants-a-clock",
    generate_all,
});

struct WantsAClock;

impl Guest for WantsAClock {
    fn about() -> PluginInfo {
        PluginInfo {
            name: format!("clock-{}", whycrash_hostile::now()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            causes: Vec::new(),
            needs: whycrash::plugin::types::Needs {
                any_of: Vec::new(),
                all_of: Vec::new(),
            },
        }
    }

    fn diagnose(_: &Report) -> Result<Diagnosis, String> {
        Ok(Diagnosis {
            findings: Vec::new(),
            next: Vec::new(),
        })
    }
}

export!(WantsAClock);
