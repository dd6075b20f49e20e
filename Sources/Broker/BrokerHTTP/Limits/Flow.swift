import NativeSSO

/// Names of flows: 64 bits under a key that this process alone knows, so that nobody can aim at another's.
enum Flow {
    /// The one flow of a limit that is nobody's in particular.
    static let everybody: UInt64 = 1

    static func key(_ address: ClientAddress) -> UInt64 { hash { $0.combine(address) } }

    static func key(_ network: NetworkAddress) -> UInt64 { hash { $0.combine(network) } }

    static func key(logoutFrom caller: ClientAddress?) -> UInt64 { hash { $0.combine(caller) } }

    static func key(logoutOf issuer: Issuer, from caller: ClientAddress?) -> UInt64 {
        hash { hasher in
            combine(issuer.string, into: &hasher)
            hasher.combine(caller)
        }
    }

    static func key(_ client: ClientID) -> UInt64 { hash { combine(client.string, into: &$0) } }

    /// - Parameter client: As a request names it, registered or not.
    static func key(client: String, _ address: ClientAddress) -> UInt64 {
        hash { hasher in
            combine(client, into: &hasher)
            hasher.combine(address)
        }
    }

    static func key(_ issuer: Issuer, _ name: String) -> UInt64 {
        hash { hasher in
            combine(issuer.string, into: &hasher)
            combine(name, into: &hasher)
        }
    }

    /// An exchange's id_token has a `sid`.
    static func key(sessionOf idToken: IDTokenClaims) -> UInt64 { key(idToken.issuer, idToken.sessionID?.string ?? "") }

    static func key(_ token: EnrolledTokenDigest) -> UInt64 { hash { $0.combine(token) } }

    static func key(_ grant: UniqueID) -> UInt64 { hash { $0.combine(grant) } }

    private static func hash(_ combine: (inout Hasher) -> Void) -> UInt64 {
        var hasher = Hasher()
        combine(&hasher)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// Octet by octet, and ended: `String`'s own hash is that of its normal form.
    private static func combine(_ text: String, into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}
