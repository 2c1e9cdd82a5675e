//! Keeps the dashboard's facts: a thread that looks at the sessions when something changed, and now and then in any case.
//!
//! A session is read again only when its files are not what they were. Nothing is ever written.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::session::Session;
use super::sessions::{self, Branches, Known, Runs};
use super::{briefing, events, graph};
use crate::continuity::Drift;
use crate::continuity::capsule::Capsule;
use crate::continuity::state::NoteKind;
use crate::dashboard::{Detail, Row, Series, Standing};
use crate::event::SessionId;
use crate::repo;
use crate::store::dir::DirError;
use crate::store::index;
use crate::store::layout::{EVENTS_FILE, STATE_FILE};
use crate::store::log::{self, Stretch};
use crate::store::{Layout, home};
use crate::terminal::{contained, fault, spawn_deaf};
use crate::text::{one_line, shorten};
use crate::watch::Several;

/// Between two looks while news keeps coming.
const BETWEEN: Duration = Duration::from_millis(50);
/// Where the system tells of changes, the list is read at one of so many looks that nothing asked for: a process that died
/// tells nobody.
const LOOKS_A_LIST: u32 = 5;
/// Untold looks after which everything is read again: branches and processes tell nobody.
const LOOKS_A_WHOLE: u32 = 30;
/// Lines of the log that are kept.
const TAIL_LINES: usize = 60;
const TAIL_BYTES: u64 = 32 * 1024;
/// Of a long log that are read for the graph before anything else has its turn.
const STRETCH_BYTES: u64 = 64 * 1024 * 1024;
const GIT_LIMIT: Duration = Duration::from_secs(2);
const DRIFT_PATHS: usize = 5;
const WORDS: usize = 160;

/// What the lookout tells.
#[derive(Debug)]
pub(super) enum News {
    Rows(Vec<Row>),
    Detail(Box<Detail>),
    Drift(SessionId, Vec<String>),
    Failed(String),
    /// The lookout panicked.
    Broken(String),
}

/// Passes news on; false when nobody listens any more.
pub(super) type Tell = Arc<dyn Fn(News) -> bool + Send + Sync>;

/// The other end.
#[derive(Debug)]
pub(super) struct Lookout {
    wanted: Arc<Mutex<Wanted>>,
    wake: SyncSender<()>,
}

/// The selected session.
#[derive(Clone, Debug, Default)]
struct Wanted {
    session: Option<SessionId>,
    /// Grows with each wish: one who asks anew has forgotten what was told.
    number: u64,
}

impl Lookout {
    pub(super) fn start(layout: Layout, tell: Tell) -> std::io::Result<Self> {
        let wanted = Arc::new(Mutex::new(Wanted::default()));
        let watch = if fault::is_ordered("watch-untold") {
            Several::untold()
        } else {
            Several::new()
        };
        let wake = watch.waker();
        let mut looking = Looking {
            layout,
            tell,
            wanted: Arc::clone(&wanted),
            watch,
            runs: Runs::default(),
            cache: HashMap::new(),
            told: None,
            followed: None,
        };
        let last_word = Arc::clone(&looking.tell);
        spawn_deaf("lookout", move || {
            if let Err(why) = contained(|| looking.run())
                && !last_word(News::Broken(why))
            {
                tracing::debug!("nobody listens any more");
            }
        })?;
        Ok(Self { wanted, wake })
    }

    /// The session whose details are wanted.
    pub(super) fn look_at(&self, session: Option<SessionId>) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.session = session;
        wanted.number += 1;
        drop(wanted);
        if self.wake.try_send(()).is_err() {
            tracing::trace!("it is about to look anyway");
        }
    }
}

/// By which files are known to be the same.
type Stamp = [(u64, u64, i64, i64); 2];

struct Looking {
    layout: Layout,
    tell: Tell,
    wanted: Arc<Mutex<Wanted>>,
    watch: Several,
    runs: Runs,
    cache: HashMap<String, (Stamp, Known)>,
    told: Option<Vec<Row>>,
    followed: Option<Followed>,
}

/// What was read of the selected session.
struct Followed {
    wish: u64,
    dir: PathBuf,
    stamp: Stamp,
    series: Series,
    series_offset: u64,
    /// How much of the log the series tells of, while there is more.
    behind_percent: Option<u64>,
    events: VecDeque<String>,
    events_offset: u64,
    /// Of the capsule that the drift was told for.
    generation: Option<u64>,
}

impl Looking {
    fn run(&mut self) {
        let mut untold = 0;
        fault::strike("watch-lookout");
        loop {
            // What a person looks at comes first.
            if let Some(detail) = self.detail()
                && !(self.tell)(News::Detail(Box::new(detail)))
            {
                return;
            }
            let is_idle = untold % LOOKS_A_LIST != 0 && self.watch.is_watching();
            let news = if is_idle { None } else { self.news() };
            if news.is_some_and(|news| !(self.tell)(news)) {
                return;
            }
            std::thread::sleep(BETWEEN);
            let is_behind = |it: &Followed| it.behind_percent.is_some();
            if self.followed.as_ref().is_some_and(is_behind) {
                continue;
            }
            if self.watch.wait(Duration::from_secs(1)) {
                untold = 0;
            } else {
                untold += 1;
            }
            if untold >= LOOKS_A_WHOLE {
                untold = 0;
                self.cache.clear();
            }
        }
    }

    /// The list, if it is not what was told.
    fn news(&mut self) -> Option<News> {
        match self.look() {
            Ok(rows) if self.told.as_ref() == Some(&rows) => None,
            Ok(rows) => {
                self.told = Some(rows.clone());
                Some(News::Rows(rows))
            }
            Err(error) => Some(News::Failed(error.to_string())),
        }
    }

    fn look(&mut self) -> Result<Vec<Row>, DirError> {
        let runs = Runs::read(&self.layout)?;
        if runs != self.runs {
            self.cache.clear();
            self.runs = runs;
        }
        let mut branches = Branches::default();
        let mut known = self.runs.without_session();
        let mut kept = HashMap::new();
        for (name, found) in index::survey(&self.layout)? {
            let entry = match found {
                Ok(entry) => entry,
                Err(why) => {
                    known.push(sessions::bad(&name, Standing::Unreadable, why));
                    continue;
                }
            };
            let cached = self.cache.remove(&name).filter(|(stamp, known)| {
                known.dir.as_deref().and_then(stamp_of).as_ref() == Some(stamp)
            });
            let (stamp, one) = cached.unwrap_or_else(|| {
                let one = sessions::of_entry(&self.layout, &self.runs, &mut branches, &entry);
                // Looked at before it was read would be surer; a later change wakes the watch again.
                let stamp = one.dir.as_deref().and_then(stamp_of).unwrap_or_default();
                (stamp, one)
            });
            known.push(one.clone());
            kept.insert(name, (stamp, one));
        }
        self.cache = kept;
        self.aim(&known);
        Ok(known.into_iter().map(|known| known.row).collect())
    }

    fn aim(&mut self, known: &[Known]) {
        let rooms = [home::INDEX, home::RUNS].into_iter().filter_map(|room| {
            let dir = home::open_room(&self.layout, room).ok()??;
            Some(dir.path().to_owned())
        });
        // Those that ended tell nothing any more; what wakes them is found by the next look.
        let live = known
            .iter()
            .filter(|it| it.row.standing != Standing::Retired);
        let dirs: BTreeSet<PathBuf> = rooms.chain(live.filter_map(|it| it.dir.clone())).collect();
        self.watch.aim(&dirs);
    }

    /// The selected session, if anything of it is new.
    fn detail(&mut self) -> Option<Detail> {
        let wanted = self
            .wanted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if self
            .followed
            .as_ref()
            .is_some_and(|it| it.wish != wanted.number)
        {
            self.followed = None;
        }
        let (wish, wanted) = (wanted.number, wanted.session?);
        let entry = index::find(&self.layout, &wanted).ok()??;
        if let Some(followed) = &self.followed
            && followed.behind_percent.is_none()
            && stamp_of(&followed.dir) == Some(followed.stamp)
        {
            return None;
        }
        let session = Session::glance(&self.layout, &entry).ok()?;
        let mut followed = self.followed.take().unwrap_or_else(|| Followed {
            wish,
            dir: session.store.dir().path().to_owned(),
            stamp: Stamp::default(),
            series: Series::default(),
            series_offset: 0,
            behind_percent: None,
            events: VecDeque::new(),
            events_offset: 0,
            generation: None,
        });
        followed.stamp = stamp_of(&followed.dir).unwrap_or_default();
        if let Err(error) = followed.read(&session) {
            followed.events.push_back(one_line(&error.to_string()));
        }
        let newest = session
            .state
            .capsule
            .as_ref()
            .map(|capsule| capsule.generation);
        let capsule = newest.and_then(|generation| briefing::read(&session, generation));
        if newest != followed.generation
            && let Some(capsule) = &capsule
        {
            self.compare(&session, capsule);
        }
        followed.generation = newest;
        let detail = Detail {
            session: Some(session.id.clone()),
            series: followed.series.clone(),
            behind_percent: followed.behind_percent,
            capsule: capsule_lines(&session, capsule.as_ref()),
            drift: Vec::new(),
            notes: note_lines(&session),
            events: followed.events.clone(),
        };
        self.followed = Some(followed);
        Some(detail)
    }

    /// A look at a repository may take long: beside the rest.
    fn compare(&self, session: &Session, capsule: &Capsule) {
        let (tell, id, cwd) = (Arc::clone(&self.tell), session.id.clone(), session.cwd());
        let before = capsule.repo.clone();
        let spawned = spawn_deaf("drift", move || {
            let lines = contained(|| {
                let now = repo::snapshot_within(&cwd, GIT_LIMIT);
                let lines = Drift::between(&before, &now).lines(DRIFT_PATHS);
                lines.iter().map(|line| one_line(line)).collect()
            });
            let lines =
                lines.unwrap_or_else(|why| vec![format!("not compared: {}", one_line(&why))]);
            if !tell(News::Drift(id, lines)) {
                tracing::debug!("nobody listens any more");
            }
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "the repository is not compared");
        }
    }
}

impl Followed {
    fn read(&mut self, session: &Session) -> Result<(), DirError> {
        let dir = session.store.dir();
        let bytes = log::tail(dir)?.bytes;
        if bytes < self.series_offset.max(self.events_offset) {
            // A log that became shorter was replaced.
            self.series = Series::default();
            (self.series_offset, self.events_offset) = (0, 0);
            self.events.clear();
        }
        let series = &mut self.series;
        let stretch = Stretch {
            offset: self.series_offset,
            bytes: STRETCH_BYTES,
            wants: Series::wants,
        };
        let before = self.series_offset;
        self.series_offset = log::scan(dir, stretch, &mut |event| series.push(&event))?;
        let is_behind = self.series_offset >= before.saturating_add(STRETCH_BYTES / 2);
        self.behind_percent = is_behind.then(|| self.series_offset * 100 / bytes.max(1));
        graph::learn(&mut self.series, session);
        let events = &mut self.events;
        let tail = Stretch {
            offset: self.events_offset.max(bytes.saturating_sub(TAIL_BYTES)),
            bytes: STRETCH_BYTES,
            wants: |_| true,
        };
        self.events_offset = log::scan(dir, tail, &mut |event| {
            let line = events::text(&event).unwrap_or_default();
            // The date is today's most of the time, and the place is short.
            let line = line.split_once('T').map_or(line.as_str(), |(_, time)| time);
            events.push_back(one_line(line));
            if events.len() > TAIL_LINES {
                events.pop_front();
            }
        })?;
        Ok(())
    }
}

fn stamp_of(dir: &Path) -> Option<Stamp> {
    let of = |name: &str| match std::fs::symlink_metadata(dir.join(name)) {
        Ok(meta) => (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()),
        Err(_) => (0, 0, 0, 0),
    };
    dir.is_dir().then(|| [of(STATE_FILE), of(EVENTS_FILE)])
}

fn capsule_lines(session: &Session, capsule: Option<&Capsule>) -> Vec<String> {
    let Some(known) = &session.state.capsule else {
        return vec!["none yet".to_owned()];
    };
    let mut lines = vec![format!("{} saved {}", known.generation, known.at)];
    match capsule {
        None => lines.push("it cannot be read".to_owned()),
        Some(capsule) => lines.extend(
            capsule
                .work
                .request
                .iter()
                .map(|said| format!("> {}", shorten(&one_line(&said.text), WORDS))),
        ),
    }
    lines
}

fn note_lines(session: &Session) -> Vec<String> {
    let notes = session.state.work.notes.iter();
    notes
        .map(|note| {
            let kind = match note.kind {
                NoteKind::Task => "task",
                NoteKind::Keep => "keep",
                NoteKind::Next => "next",
            };
            format!("{kind}: {}", shorten(&one_line(&note.text), WORDS))
        })
        .collect()
}
