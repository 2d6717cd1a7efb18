pub enum First { None, Match(usize), Error(usize, i32) }
pub struct FirstMatch(Vec<crate::pcre::Regex>);
pub struct Bad { pub index: usize, pub message: String }
impl FirstMatch {
    pub fn new(p: &[&[u8]]) -> Result<Self, Bad> { let mut v = vec![]; for (i, p) in p.iter().enumerate() { v.push(crate::pcre::Regex::new(p).map_err(|e| Bad { index: i, message: e.to_string() })?) } Ok(Self(v)) }
    pub fn first(&self, s: &[u8], limit: usize) -> First { for (i, r) in self.0.iter().take(limit).enumerate() { match r.is_match(s) { crate::pcre::Outcome::Yes => return First::Match(i), crate::pcre::Outcome::Error(e) => return First::Error(i, e), _ => {} } } First::None }
}
