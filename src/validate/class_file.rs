//! What other classes can see of a class file: whether a patched class still fits classes compiled against the old one.
//!
//! Compiling one file alone is sound only if nothing that other classes were compiled against has changed: names and
//! types of members, supertypes, and the values of constants, which the compiler copies into their users
//! (JVMS 4, JLS 13). Method bodies and private members do not matter.

use std::path::{Path, PathBuf};

use super::error::ValidateError;
use crate::digest::sha256;

// Access flags (JVMS 4.5, 4.6).
const PRIVATE: u16 = 0x0002;
const BRIDGE: u16 = 0x0040;
const SYNTHETIC: u16 = 0x1000;

/// Whether all classes in `new` look from outside like those of the same name in `old`, and none that others may use
/// is gone. What cannot be read counts as changed.
pub(super) fn same_interface(new: &Path, old: &Path) -> Result<bool, ValidateError> {
    let mut tops = Vec::new();
    for entry in walkdir::WalkDir::new(new).into_iter().filter_map(Result::ok) {
        if entry.path().extension().is_none_or(|ext| ext != "class") {
            continue;
        }
        let below = entry.path().strip_prefix(new).expect("an entry lies below the walk's root");
        let former = old.join(below);
        if is_unnamed(&below.to_string_lossy()) || !former.is_file() {
            continue;
        }
        let read = |path: &Path| std::fs::read(path).map_err(ValidateError::io("read", path));
        let (now, then) = (interface(&read(entry.path())?), interface(&read(&former)?));
        if now.is_none() || now != then {
            return Ok(false);
        }
        if !below.to_string_lossy().contains('$') {
            tops.push(below.with_extension(""));
        }
    }
    Ok(!tops.iter().any(|top| lost_a_nested_class(top, new, old)))
}

/// Digest of all class files in `dir`, names included.
pub(super) fn digest(dir: &Path) -> Result<String, ValidateError> {
    let mut all = Vec::new();
    for path in class_files(dir) {
        let bytes = std::fs::read(&path).map_err(ValidateError::io("read", &path))?;
        let below = path.strip_prefix(dir).expect("an entry lies below the walk's root");
        all.extend(below.to_string_lossy().as_bytes());
        all.push(0);
        all.extend((bytes.len() as u64).to_be_bytes());
        all.extend(bytes);
    }
    Ok(sha256(&all))
}

/// Whether every class file in `new` is byte for byte that of the same name in `old`.
pub(super) fn same_bytes(new: &Path, old: &Path) -> bool {
    let is_same = |path: &PathBuf| {
        let former = old.join(path.strip_prefix(new).expect("an entry lies below the walk's root"));
        matches!((std::fs::read(path), std::fs::read(former)), (Ok(now), Ok(then)) if now == then)
    };
    let files = class_files(new);
    !files.is_empty() && files.iter().all(is_same)
}

fn class_files(dir: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().filter_map(Result::ok);
    let paths = entries.map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension().is_some_and(|ext| ext == "class")).collect()
}

/// Whether a named class nested in `top` was there and is not any more.
fn lost_a_nested_class(top: &Path, new: &Path, old: &Path) -> bool {
    let prefix = format!("{}$", top.file_name().unwrap_or_default().to_string_lossy());
    let dir = top.parent().unwrap_or(Path::new(""));
    let siblings = std::fs::read_dir(old.join(dir)).into_iter().flatten().flatten();
    let names = siblings.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut nested = names.filter(|name| name.starts_with(&prefix) && !is_unnamed(name));
    nested.any(|name| !new.join(dir).join(name).is_file())
}

/// Whether a class is local or anonymous, or nested in one: out of the reach of other files.
fn is_unnamed(class: &str) -> bool {
    class.split('$').skip(1).any(|part| part.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether classes of other files can use a member. Accessors that the compiler makes serve its own file only.
fn is_seen(access: u16) -> bool {
    access & PRIVATE == 0 && (access & SYNTHETIC == 0 || access & BRIDGE != 0)
}

/// A constant of the pool, as far as it is of interest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Constant {
    Text(Vec<u8>),
    /// Tag and bytes of a number.
    Number(u8, Vec<u8>),
    /// Tag and index of a class name or a string.
    Reference(u8, u16),
    Other,
}

/// What others see, in an order that does not depend on the source's.
#[derive(Debug, PartialEq, Eq)]
struct Interface {
    access: u16,
    supertypes: Vec<Constant>,
    members: Vec<Member>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    is_method: bool,
    access: u16,
    name: Constant,
    descriptor: Constant,
    /// [`Constant::Other`] where there is none.
    value: Constant,
}

fn interface(class: &[u8]) -> Option<Interface> {
    let mut reader = Reader { bytes: class };
    if reader.u32()? != 0xcafe_babe {
        return None;
    }
    reader.take(4)?;
    let pool = reader.pool()?;
    let access = reader.u16()?;
    reader.u16()?;
    let superclass = reader.u16()?;
    let n_interfaces = reader.u16()?;
    let mut supertypes = Vec::new();
    for index in 0..=n_interfaces {
        let index = if index == 0 { superclass } else { reader.u16()? };
        supertypes.push(resolve(&pool, index)?);
    }
    let mut members = reader.members(&pool, false)?;
    members.extend(reader.members(&pool, true)?);
    members.sort();
    Some(Interface { access, supertypes, members })
}

/// The constant at `index`; names and strings by their text, since indices differ from compilation to compilation.
fn resolve(pool: &[Constant], index: u16) -> Option<Constant> {
    match pool.get(usize::from(index))? {
        Constant::Reference(_, text) => pool.get(usize::from(*text)).cloned(),
        constant => Some(constant.clone()),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// The constant pool (JVMS 4.4); entry 0 is not used, and a `long` or `double` takes two places.
    fn pool(&mut self) -> Option<Vec<Constant>> {
        let count = usize::from(self.u16()?);
        let mut pool = vec![Constant::Other];
        while pool.len() < count {
            let tag = self.u8()?;
            let constant = match tag {
                1 => {
                    let length = usize::from(self.u16()?);
                    Constant::Text(self.take(length)?.to_vec())
                }
                3 | 4 => Constant::Number(tag, self.take(4)?.to_vec()),
                5 | 6 => Constant::Number(tag, self.take(8)?.to_vec()),
                7 | 8 => Constant::Reference(tag, self.u16()?),
                9..=12 | 17 | 18 => self.take(4).map(|_| Constant::Other)?,
                15 => self.take(3).map(|_| Constant::Other)?,
                16 | 19 | 20 => self.take(2).map(|_| Constant::Other)?,
                _ => return None,
            };
            pool.push(constant);
            if matches!(tag, 5 | 6) {
                pool.push(Constant::Other);
            }
        }
        Some(pool)
    }

    /// Fields or methods (JVMS 4.5, 4.6) that others can use.
    fn members(&mut self, pool: &[Constant], is_method: bool) -> Option<Vec<Member>> {
        let mut members = Vec::new();
        for _ in 0..self.u16()? {
            let access = self.u16()?;
            let (name, descriptor) = (resolve(pool, self.u16()?)?, resolve(pool, self.u16()?)?);
            let value = self.constant_value(pool)?;
            if is_seen(access) {
                members.push(Member { is_method, access, name, descriptor, value });
            }
        }
        Some(members)
    }

    /// The `ConstantValue` among a member's attributes (JVMS 4.7.2).
    fn constant_value(&mut self, pool: &[Constant]) -> Option<Constant> {
        let mut value = Constant::Other;
        for _ in 0..self.u16()? {
            let name = resolve(pool, self.u16()?)?;
            let length = self.u32()?;
            let mut body = Reader { bytes: self.take(length as usize)? };
            if name == Constant::Text(b"ConstantValue".to_vec()) {
                value = resolve(pool, body.u16()?)?;
            }
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_class_file_has_no_interface() {
        assert_eq!(interface(b""), None);
        assert_eq!(interface(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 9]), None);
    }
}
