//! What the tools of a language say of a source that does not build, without what they say of themselves.

/// Of componentize-py: the traceback of the program, without those of the tool in Python and Rust around it. Files of the
/// project are called as they are here: `/0/` is the first folder that it looks for modules in.
pub fn of_python(said: &str) -> String {
    let said = said.split_once("AssertionError: ").map_or(said, |(_, said)| said);
    let ends = ["\n\n\nCaused by:", "\n\nCaused by:", "\nStack backtrace:"];
    let end = ends.iter().filter_map(|end| said.find(end)).min();
    let said = said.get(..end.unwrap_or(said.len())).unwrap_or(said);
    said.replace("\"/0/", "\"").trim_end().to_owned()
}

/// Of node and componentize-js: without the places in them, and without node's version.
pub fn of_js(said: &str) -> String {
    let is_the_tools = |line: &str| {
        let is_frame = line.trim_start().starts_with("at ");
        (is_frame
            && ["node:internal", "node_modules"]
                .iter()
                .any(|inside| line.contains(inside)))
            || line.starts_with("Node.js v")
    };
    let own: Vec<_> = said.lines().filter(|line| !is_the_tools(line)).collect();
    own.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_without_the_tool_that_met_it() {
        let traceback = "Traceback (most recent call last):\n  File \"/x/.venv/bin/componentize-py\", line 8, in <module>\n    \
                         sys.exit(script())\nAssertionError:   File \"/0/app.py\", line 8\n    def about(self -> PluginInfo:\n\
                         \x20                  ^^\nSyntaxError: invalid syntax\n\n\nCaused by:\n    SyntaxError: invalid syntax \
                         (app.py, line 8)\n\nStack backtrace:\n   0: <anyhow::Error>::msg\n";
        assert_eq!(
            of_python(traceback),
            "  File \"app.py\", line 8\n    def about(self -> PluginInfo:\n                   ^^\nSyntaxError: invalid syntax"
        );
        let raised = "AssertionError: Traceback (most recent call last):\n  File \"/0/app.py\", line 28, in <module>\n    \
                      import nothere\nModuleNotFoundError: No module named 'nothere'\n\n\nCaused by:\n    ModuleNotFoundError\n";
        assert_eq!(
            of_python(raised),
            "Traceback (most recent call last):\n  File \"app.py\", line 28, in <module>\n    import nothere\n\
             ModuleNotFoundError: No module named 'nothere'"
        );
        assert_eq!(of_python("error: no such file\n"), "error: no such file");
        let syntax = "/x/app.js:26\nexport function (\n       ^^^^^^^^\n\nSyntaxError: Function statements require a function \
                      name\n    at checkSyntax (node:internal/main/check_syntax:74:5)\n\nNode.js v20.20.2\n";
        assert_eq!(
            of_js(syntax),
            "/x/app.js:26\nexport function (\n       ^^^^^^^^\n\nSyntaxError: Function statements require a function name"
        );
    }
}
