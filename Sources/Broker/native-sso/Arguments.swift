import ArgumentParser
package import NativeSSO
import OAuthWire
package import Registry
import StrictCoding

// The values of the domain as arguments: what does not fit is a usage error before anything is done.

extension ClientID: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension GroupID: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension Issuer: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension SessionID: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension Subject: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

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

extension AuditKind: ExpressibleByArgument {}

extension Profile: ExpressibleByArgument {}

extension Client.Authentication: ExpressibleByArgument {}

extension Client.ProofPolicy: ExpressibleByArgument {}

/// `grant_type` as it travels, or `token-exchange` for the long one.
extension Client.Grant: ExpressibleByArgument {
    package init?(argument: String) {
        self.init(rawValue: argument.hasSameOctets(as: "token-exchange") ? Self.tokenExchange.rawValue : argument)
    }

    package var defaultValueDescription: String { rawValue }
}

extension ClientKeyID: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

/// `90d`, `12h`, `30m` or `60s`; never nothing.
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
