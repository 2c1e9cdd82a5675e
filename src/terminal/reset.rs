//! Puts a terminal right that a killed program, and a killed harn, left broken.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use nix::libc;
use nix::sys::termios::{
    ControlFlags, InputFlags, LocalFlags, OutputFlags, SetArg, SpecialCharacterIndices, Termios,
    tcgetattr, tcsetattr,
};

use super::modes;

/// Resets the controlling terminal: first how it treats bytes, then what its emulator was told.
pub fn reset() -> io::Result<()> {
    let tty = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open("/dev/tty")?;
    make_sane(&tty)?;
    (&tty).write_all(&modes::undo_all())
}

/// As `stty sane` leaves it; sizes, speeds and the character size are not touched.
fn make_sane(tty: &File) -> io::Result<()> {
    let mut modes: Termios = tcgetattr(tty)?;
    modes.input_flags |=
        InputFlags::BRKINT | InputFlags::ICRNL | InputFlags::IXON | InputFlags::IMAXBEL;
    modes.input_flags &= !(InputFlags::IGNBRK
        | InputFlags::INLCR
        | InputFlags::IGNCR
        | InputFlags::ISTRIP
        | InputFlags::PARMRK
        | InputFlags::INPCK
        | InputFlags::IXOFF);
    modes.output_flags |= OutputFlags::OPOST | OutputFlags::ONLCR;
    modes.output_flags &= !(OutputFlags::OCRNL | OutputFlags::ONOCR | OutputFlags::ONLRET);
    modes.local_flags |= LocalFlags::ISIG
        | LocalFlags::ICANON
        | LocalFlags::IEXTEN
        | LocalFlags::ECHO
        | LocalFlags::ECHOE
        | LocalFlags::ECHOK
        | LocalFlags::ECHOCTL
        | LocalFlags::ECHOKE;
    modes.local_flags &=
        !(LocalFlags::ECHONL | LocalFlags::NOFLSH | LocalFlags::TOSTOP | LocalFlags::ECHOPRT);
    modes.control_flags |= ControlFlags::CREAD;
    // Keys that mean something, where a raw mode took them away. The indices are the system's own.
    for (index, byte) in [
        (SpecialCharacterIndices::VINTR, 0x03),
        (SpecialCharacterIndices::VQUIT, 0x1c),
        (SpecialCharacterIndices::VERASE, 0x7f),
        (SpecialCharacterIndices::VKILL, 0x15),
        (SpecialCharacterIndices::VEOF, 0x04),
        (SpecialCharacterIndices::VSTART, 0x11),
        (SpecialCharacterIndices::VSTOP, 0x13),
        (SpecialCharacterIndices::VSUSP, 0x1a),
        (SpecialCharacterIndices::VMIN, 1),
        (SpecialCharacterIndices::VTIME, 0),
    ] {
        if let Some(slot) = modes.control_chars.get_mut(index as usize) {
            *slot = byte;
        }
    }
    Ok(tcsetattr(tty, SetArg::TCSANOW, &modes)?)
}
