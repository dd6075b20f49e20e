/// Signs what the broker issues: implemented by `KeyModule`, which alone sees a private key.
package protocol TokenSigner: Sendable {
    /// The compact JWS of `payload` under the active key of `algorithm`. RFC 7515 §7.1.
    /// - Parameters:
    ///   - type: The `typ` header.
    ///   - algorithm: From ``algorithm(_:)``.
    func beginSigning(_ payload: [UInt8], type: JWTType, algorithm: KeyAlgorithm) -> Pending<String, PortError>

    /// The algorithm to sign with: `wanted`, or, if that is `nil`, the first one with an active key. Throws an outage if
    /// there is no such key, if an operator has suspended it, or if it is known that it cannot sign now.
    func algorithm(_ wanted: KeyAlgorithm?) throws(PortError) -> KeyAlgorithm
}

/// The kinds of JWT that the broker issues, told apart by `typ`. RFC 8725 §3.11.
package enum JWTType: String, Sendable, CaseIterable {
    case accessToken = "at+jwt"
    case idToken = "JWT"
}

/// HMAC-SHA-256 under the refresh-token keys of the key module.
package protocol RefreshTokenAuthenticator: Sendable {
    /// The key for new tokens.
    var currentKeyID: UInt8 { get throws(PortError) }

    /// Throws an outage if an operator has suspended the key for new tokens. What is being made is finished.
    func checkIssuing() throws(PortError)

    /// 32 octets; `nil` if no key has this id.
    func beginTag(_ message: [UInt8], keyID: UInt8) -> Pending<[UInt8]?, PortError>
}

extension RefreshTokenAuthenticator {
    /// The same, waited for.
    package func tag(_ message: [UInt8], keyID: UInt8) async throws(PortError) -> [UInt8]? {
        try await beginTag(message, keyID: keyID).value
    }
}

/// HMAC-SHA-256 of a device value under the device key of the key module.
package protocol DeviceDigester: Sendable {
    /// Bound to the issuer: one device value at two issuers has two digests.
    func digest(_ device: DeviceValue, at issuer: Issuer) async throws(PortError) -> DeviceDigest
}

/// HMAC-SHA-256, under the device key of the key module, over records that the broker stores and later trusts. An
/// attacker who can write to the database, but has no key file, cannot forge a record.
package protocol RecordAuthenticator: Sendable {
    /// 32 octets. Other fields, or the same in a record of another kind, have another tag.
    func tag(_ kind: AuthenticatedRecord, _ fields: [[UInt8]]) async throws(PortError) -> [UInt8]
}

/// The kinds of records that carry a tag.
package enum AuthenticatedRecord: String, Sendable {
    /// A key of an identity provider, with the times of its sightings.
    case providerKey = "provider key"
    /// The name of a relayed code.
    case authorizationCode = "authorization code"
    /// The source of the key that seals the answer to a code.
    case codeAnswer = "code answer"
    /// The code of a hand-off to a web app.
    case webHandoff = "web handoff"
}

/// The result of a call of a key: there at once if the key is in this process, else on its way from another process or a
/// token. Begin all calls of an answer before the first wait: they travel together. Wait for each once.
///
/// Public, although no library shows it: the compiler makes no version of a generic of `package` access for the types of
/// another target, and each use would look them up at run time.
public enum Pending<Value: Sendable, Failure: Error>: Sendable {
    case done(Result<Value, Failure>)
    case coming(@Sendable () async -> Result<Value, Failure>)

    @inlinable
    public init(catching body: () throws(Failure) -> Value) {
        do throws(Failure) { self = .done(.success(try body())) } catch { self = .done(.failure(error)) }
    }

    /// The call that `body` begins, or the failure that it throws instead.
    @inlinable
    public static func begin(_ body: () throws(Failure) -> Pending) -> Pending {
        do throws(Failure) { return try body() } catch { return .done(.failure(error)) }
    }

    /// The call that `body` makes when it is waited for.
    @inlinable
    public static func waiting(_ body: @escaping @Sendable () async throws(Failure) -> Value) -> Pending {
        .coming {
            do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
        }
    }

    @inlinable
    public var result: Result<Value, Failure> {
        get async {
            switch self {
            case .done(let result): result
            case .coming(let rest): await rest()
            }
        }
    }

    /// The same; a failure is thrown.
    @inlinable
    public var value: Value {
        get async throws(Failure) { try await result.get() }
    }

    /// What `finish` makes of the result, when it is waited for.
    @inlinable
    public func then<Other, OtherFailure>(
        _ finish: @escaping @Sendable (Result<Value, Failure>) -> Result<Other, OtherFailure>
    ) -> Pending<Other, OtherFailure> {
        switch self {
        case .done(let result): .done(finish(result))
        case .coming(let rest): .coming { finish(await rest()) }
        }
    }
}
