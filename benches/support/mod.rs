pub(crate) mod timing;
