//! Whose session a hook speaks for: reads the run's record and the processes above, has `supervisor::ownership` decide.

use super::place;
use crate::adapter::Manifest;
use crate::continuity::signal::HookInput;
use crate::event::{RunId, SessionId};
use crate::process;
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::supervisor::ownership::{self, Verdict};
use crate::supervisor::run::{RunDir, Speaker};

/// To whom the session of this hook belongs.
pub(super) enum Owner {
    /// With the session that the same process spoke for before, if that was another.
    Run(RunId, Option<SessionId>),
    Nested(RunId),
    Nobody,
}

/// Finds out from the processes above this one.
pub(super) fn owner(layout: &Layout, manifest: &Manifest, input: &HookInput) -> Owner {
    let Some(id) = place::run_hint() else {
        return Owner::Nobody;
    };
    owner_of_run(layout, manifest, input, &id).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot tell whether the run owns this session");
        Owner::Nobody
    })
}

fn owner_of_run(
    layout: &Layout,
    manifest: &Manifest,
    input: &HookInput,
    id: &RunId,
) -> Result<Owner, DirError> {
    let Some(dir) = RunDir::open(layout, id)? else {
        return Ok(Owner::Nobody);
    };
    let Some(run) = dir.read()? else {
        return Ok(Owner::Nobody);
    };
    let speaker = dir
        .speaker()?
        .filter(|speaker| process::is_alive(speaker.process));
    let is_harness = |seen: &process::Seen| {
        seen.names
            .iter()
            .any(|name| manifest.processes.iter().any(|known| known == name))
    };
    let root = run.client.unwrap_or(run.host);
    let claimed = speaker.as_ref().map(|speaker| speaker.process);
    let process = match ownership::decide(&process::ancestors(), root, claimed, is_harness) {
        Verdict::Claim(process) => process,
        Verdict::Owned => match &speaker {
            Some(speaker) if speaker.session == input.session => {
                return Ok(Owner::Run(id.clone(), None));
            }
            Some(speaker) => speaker.process,
            None => return Ok(Owner::Nobody),
        },
        Verdict::Nested => return Ok(Owner::Nested(id.clone())),
        Verdict::Unowned => return Ok(Owner::Nobody),
    };
    dir.set_speaker(&Speaker {
        process,
        session: input.session.clone(),
    })?;
    Ok(Owner::Run(
        id.clone(),
        speaker.map(|speaker| speaker.session),
    ))
}
