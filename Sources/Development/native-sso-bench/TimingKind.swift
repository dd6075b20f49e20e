/// Requests that are refused by one and the same answer, and must not be told apart by the time that it takes.
enum TimingKind: String, CaseIterable, Sendable {
    /// An id_token, well signed, of a login that the registry does not know and that may not begin by it.
    case unknownSession = "unknown_session"
    /// That of a known login, with the value of another device.
    case wrongDevice = "wrong_device"
    /// That of a known login, by an app of another group.
    case foreignGroup = "foreign_group"

    static let pairs: [(TimingKind, TimingKind)] = [
        (.unknownSession, .wrongDevice), (.unknownSession, .foreignGroup), (.wrongDevice, .foreignGroup),
    ]
}
