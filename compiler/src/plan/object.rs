//! Reading the structures of a plan from JSON objects, and from nothing else.
//!
//! In: a JSON reader's position. Out: the structure, or the reader's error at that position. The code that serde
//! derives for a structure also accepts an array of its fields in order, which the loader of MSCCL++ does not.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A structure that is read from an object.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Object<T>, D::Error> {
        reader.deserialize_map(Fields(PhantomData)).map(Object)
    }
}

/// Reads the fields of an object.
struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// A list of objects.
pub(super) fn list<'de, D, T>(reader: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let objects = Vec::<Object<T>>::deserialize(reader)?;
    Ok(objects.into_iter().map(|object| object.0).collect())
}

/// An object whose key may be absent.
pub(super) fn option<'de, D, T>(reader: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Object::deserialize(reader).map(|object| Some(object.0))
}

/// A value whose key may be absent. The loader takes a `null` for a value, and fails on it.
pub(super) fn present<'de, D, T>(reader: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(reader).map(Some)
}
