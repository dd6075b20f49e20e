package import ArgumentParser
package import NativeSSO
import OAuthWire
package import Registry
import StrictCoding

// The values of the domain as arguments. A value that does not parse is a usage error, before the command starts.

extension ProtocolIdentifier {
    package init?(argument: String) { self.init(argument) }
}

extension ClientID: ExpressibleByArgument {
    package static var defaultCompletionKind: CompletionKind { Candidates.clients }
}

extension ClientKeyID: ExpressibleByArgument {}

extension GroupID: ExpressibleByArgument {
    package static var defaultCompletionKind: CompletionKind { Candidates.groups }
}

extension Issuer: ExpressibleByArgument {}

extension SessionID: ExpressibleByArgument {}

extension Subject: ExpressibleByArgument {}

extension DeviceDigest: ExpressibleByArgument {
    /// 64 hexadecimal digits.
    package init?(argument: String) {
        guard let octets = Hexadecimal.decode(argument) else { return nil }
        self.init(octets: octets)
    }
}

extension UniqueID: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension Membership.Role: ExpressibleByArgument {}

extension Membership.Handoff: ExpressibleByArgument {}

extension WebOrigin: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension AuditKind: ExpressibleByArgument {}

extension Profile: ExpressibleByArgument {}

extension Client.Authentication: ExpressibleByArgument {}

extension Client.ProofPolicy: ExpressibleByArgument {}

extension Client.AssertionAudience: ExpressibleByArgument {}

/// The `grant_type` of a request, or `token-exchange` for short.
extension Client.Grant: ExpressibleByArgument {
    package init?(argument: String) {
        self.init(rawValue: argument.hasSameOctets(as: "token-exchange") ? Self.tokenExchange.rawValue : argument)
    }
}

/// Of a key that signs tokens.
extension KeyAlgorithm: ExpressibleByArgument {
    package static var allValueStrings: [String] { signing.map(\.rawValue) }

    package init?(argument: String) {
        guard let algorithm = Self(rawValue: argument), Self.signing.contains(algorithm) else { return nil }
        self = algorithm
    }
}

/// Of a key that makes tokens. `key generate` has more names.
extension KeyUse: ExpressibleByArgument {
    package static var allValueStrings: [String] { [accessToken, refreshToken].map(\.rawValue) }

    package init?(argument: String) {
        guard let use = Self(rawValue: argument), use != .device else { return nil }
        self = use
    }
}

/// `90d`, `12h`, `30m` or `60s`; never zero.
extension Seconds: ExpressibleByArgument {
    package init?(argument: String) {
        guard let span = DurationText.parse(argument), span.count > 0 else { return nil }
        self = span
    }
}

/// Scope tokens separated by single spaces; the empty text is the empty scope. RFC 6749 §3.3.
extension Scope: ExpressibleByArgument {
    package init?(argument: String) {
        if argument.isEmpty {
            self = .empty
        } else {
            guard let scope = ScopeTokens(argument) else { return nil }
            self.init(scope.tokens)
        }
    }
}
