use std::os::unix::fs::symlink;

use super::*;

struct Scratch {
    temp: tempfile::TempDir,
    layout: Layout,
}

impl Scratch {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("p")).unwrap();
        let state = temp.path().join("state");
        let layout = Layout {
            config: state.join("c"),
            base: state,
            gathered: false,
        };
        Self { temp, layout }
    }

    fn project(&self) -> PathBuf {
        self.temp.path().join("p")
    }

    fn register(&self, session: &str, is_tracked: bool) -> Entry {
        let asked = Registration {
            session: &SessionId::new(session),
            adapter: &HarnessId::new("demo"),
            project: &self.project(),
            with_user: false,
            is_tracked: &|_| is_tracked,
        };
        register(&self.layout, &asked, Duration::from_secs(1)).unwrap()
    }

    fn context(&self, entry: &Entry) -> String {
        let path = ensure_context(&self.layout, entry)
            .unwrap()
            .path()
            .to_owned();
        path.strip_prefix(self.temp.path())
            .unwrap()
            .display()
            .to_string()
    }
}

#[test]
fn a_fresh_project_gets_a_directory_that_ignores_itself() {
    let scratch = Scratch::new();
    let entry = scratch.register("s", false);
    assert_eq!(scratch.context(&entry), "p/.harnery/context");
    let ignore = std::fs::read(scratch.project().join(".harnery/.gitignore")).unwrap();
    assert_eq!(ignore, IGNORE_TEXT);
    assert_eq!(
        find(&scratch.layout, &SessionId::new("s")).unwrap(),
        Some(entry)
    );
    assert_eq!(scratch.register("t", false).place, Place::Project);
}

#[test]
fn another_tools_directory_is_left_alone() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.project().join(".harnery")).unwrap();
    let entry = scratch.register("s", false);
    assert_eq!(scratch.context(&entry), "p/.harnery/harn/context");
    let names = Dir::open_trusted(&scratch.project())
        .unwrap()
        .child(".harnery")
        .unwrap()
        .names();
    assert_eq!(names.unwrap(), ["harn"]);
}

#[test]
fn a_session_whose_key_another_tool_uses_goes_to_the_corner() {
    let scratch = Scratch::new();
    scratch.register("first", false);
    let key = session_key(&SessionId::new("s"));
    let theirs = scratch.project().join(".harnery/context").join(key);
    std::fs::create_dir_all(&theirs).unwrap();
    let file = theirs.join(STATE_FILE);
    std::io::Write::write_all(
        &mut std::fs::File::create(&file).unwrap(),
        b"{\"phase\":\"x\"}",
    )
    .unwrap();
    assert_eq!(scratch.register("s", false).place, Place::Corner);
    assert_eq!(std::fs::read(file).unwrap(), b"{\"phase\":\"x\"}");
}

#[test]
fn a_tracked_or_linked_directory_sends_state_to_the_user() {
    let scratch = Scratch::new();
    scratch.register("first", false);
    let tracked = scratch.register("s", true);
    assert_eq!(tracked.place, Place::User);
    assert!(
        scratch
            .context(&tracked)
            .starts_with("state/harn/projects/")
    );

    let scratch = Scratch::new();
    let elsewhere = scratch.temp.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, scratch.project().join(".harnery")).unwrap();
    assert_eq!(scratch.register("s", false).place, Place::User);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_link_in_the_users_own_state_directory_is_refused() {
    let scratch = Scratch::new();
    let elsewhere = scratch.temp.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::create_dir(scratch.temp.path().join("state")).unwrap();
    symlink(&elsewhere, scratch.temp.path().join("state/harn")).unwrap();
    let asked = Registration {
        session: &SessionId::new("s"),
        adapter: &HarnessId::new("demo"),
        project: &scratch.project(),
        with_user: false,
        is_tracked: &|_| false,
    };
    let refused = register(&scratch.layout, &asked, Duration::ZERO);
    assert!(matches!(refused, Err(DirError::Link(_))), "{refused:?}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}
