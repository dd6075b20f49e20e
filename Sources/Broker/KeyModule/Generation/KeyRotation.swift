public import NativeSSO

/// The steps of a key's life, each with the rule that allows it. Pure.
public struct KeyRotation: Sendable, Hashable {
    /// How long a key is published before it makes anything: the longest that anybody may hold on to an older JWKS, and
    /// for MAC keys the time in which every broker reads the registry again.
    public var publication: Seconds
    /// How long a signing key stays published after its last signature: the life of an access token, and of the
    /// id_tokens beside it.
    public var signatureLife: Seconds
    /// How long a refresh-token key stays after its last tag: the absolute life of a session.
    public var refreshTokenLife: Seconds

    public init(
        publication: Seconds = .hours(24), signatureLife: Seconds = .hours(24), refreshTokenLife: Seconds = .days(90)
    ) {
        self.publication = publication
        self.signatureLife = signatureLife
        self.refreshTokenLife = refreshTokenLife
    }

    public enum Step: String, Sendable, CaseIterable {
        case publish, activate, retire, remove
    }

    public enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// The step does not lead on from the state.
        case wrongState(KeyState, Step)
        /// Not everybody has seen the key yet.
        case publishedTooShortly(until: UnixTime)
        /// What the key made may still be in use.
        case stillInUse(until: UnixTime)
        /// Nothing could be made any more.
        case onlyActiveKey(KeyUse)
        /// The device key is for ever: its digests stand in the database.
        case deviceKey

        public var description: String {
            switch self {
            case .wrongState(let state, let step):
                "\(state == .active ? "an" : "a") \(state.rawValue) key cannot be \(step.participle)"
            case .publishedTooShortly: "not every copy of the JWKS holds this key yet"
            case .stillInUse: "what this key made may be in use"
            case .onlyActiveKey(let use):
                "this is the only active \(use.rawValue) key: activate its successor, which retires this one"
            case .deviceKey: "the device key cannot be taken away: without it, every session is lost"
            }
        }
    }
}

extension KeyRotation.Step {
    fileprivate var participle: String {
        switch self {
        case .publish: "published"
        case .activate: "activated"
        case .retire: "retired"
        case .remove: "removed"
        }
    }
}
