/// One request of the fuzzer, and what may be said of its answer beforehand.
struct FuzzedRequest {
    /// By its number, and the seed, it is made again.
    let number: Int
    let octets: [UInt8]
    /// Whether it ends where it says. Then exactly one answer comes; if not, it goes over a connection of its own.
    var isFramed = true
    /// Whether a token for it would be a fault, whatever else it holds: something in it was not signed as it stands.
    var mustBeRefused = false
}
