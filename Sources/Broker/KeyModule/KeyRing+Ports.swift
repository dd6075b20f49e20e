package import JOSE
package import NativeSSO
import StrictCoding

extension KeyRing: TokenSigner {
    package func beginSigning(
        _ payload: [UInt8], type: JWTType, algorithm: KeyAlgorithm
    ) -> Pending<String, PortError> {
        .begin { () throws(PortError) in
            guard let signer = try loaded().signer(algorithm) else { throw .noActiveKey(for: .accessToken, algorithm) }
            let start = ContinuousClock.now
            return signer.begin(payload, type: type).then { [self] result in
                let isSigned = (try? result.get()) != nil
                count(signatureBy: signer.kid, in: signer.provider, isSigned ? ContinuousClock.now - start : nil)
                return result.mapError(PortError.init)
            }
        }
    }

    package func algorithm(_ wanted: KeyAlgorithm?) throws(PortError) -> KeyAlgorithm {
        let keys = try loaded()
        guard let algorithm = wanted ?? keys.algorithm, let signer = keys.signer(algorithm) else {
            throw .noActiveKey(for: .accessToken, wanted)
        }
        try checkNotSuspended(signer.kid)
        try checkQuota(of: signer.kid)
        if let failure = signer.failure { throw PortError(failure) }
        return algorithm
    }
}

extension KeyRing {
    /// The active, published or retired key that verifies a broker token with this header, or why no key fits. Waits for a
    /// read of the registry's keys if the key is unknown. An outage if a signing key could not be loaded, because it may be the
    /// right one.
    package func verificationKey(for header: JOSEHeader) -> Pending<Result<JSONWebKey, JWSError>, PortError> {
        .begin { () throws(PortError) in
            let found = try loaded().verificationKey(for: header)
            guard case .failure(.unknownKey) = found else { return .done(.success(found)) }
            return .waiting { [self] () async throws(PortError) in
                try await readAgain()
                let keys = try loaded()
                let found = keys.verificationKey(for: header)
                if case .failure(.unknownKey) = found,
                    keys.unknownUses.contains(.accessToken) || keys.problems.contains(where: { $0.use == .accessToken })
                {
                    throw .outage(Outage(.keyModule, "a signing key could not be loaded", isUndecided: true))
                }
                return found
            }
        }
    }
}

extension KeyRing {
    /// Has every key in use sign once, but those that an operator has suspended: an id_token that expired in 1970, and tags.
    package func tryKeys(of issuer: Issuer) async throws(PortError) {
        var payload = JSONWriter()
        payload.object { json in
            json.member("iss", issuer.string)
            json.member("exp", 0 as Int64)
        }
        for algorithm in KeyAlgorithm.signing {
            guard let signer = try loaded().signer(algorithm), !suspendedKIDs.contains(signer.kid) else { continue }
            _ = try await beginSigning(payload.bytes, type: .idToken, algorithm: algorithm).value
        }
        _ = try await tag(Array("nsr1.".utf8), keyID: try currentKeyID)
        _ = try await tag(.providerKey, [])
    }
}

extension KeyRing: RefreshTokenAuthenticator {
    package var currentKeyID: UInt8 {
        get throws(PortError) {
            guard let id = try loaded().refreshTokenKeyID else { throw .noActiveKey(for: .refreshToken) }
            return id
        }
    }

    package func checkIssuing() throws(PortError) {
        if let kid = try loaded().refreshTokenKID { try checkNotSuspended(kid) }
    }

    package func beginTag(_ message: [UInt8], keyID: UInt8) -> Pending<[UInt8]?, PortError> {
        .begin { () throws(PortError) in
            if let key = try refreshTokenKey(keyID) {
                return key.beginTag(message).then { result in result.map { $0 }.mapError(PortError.init) }
            }
            return .waiting { [self] () async throws(PortError) in
                try await readAgain()
                if let key = try refreshTokenKey(keyID) { return try await .hmac(message, under: key) }
                guard try !loaded().unknownUses.contains(.refreshToken) else {
                    throw .outage(
                        Outage(
                            .keyModule, "a refresh-token key is of a kind that this version does not know",
                            isUndecided: true))
                }
                return nil
            }
        }
    }

    /// `nil`: the id is unknown or removed. If its key could not be loaded, that is undecided: throws an outage.
    private func refreshTokenKey(_ id: UInt8) throws(PortError) -> (any MessageAuthenticator)? {
        guard let known = try loaded().refreshTokenKeys[id] else { return nil }
        guard let key = known else {
            throw .outage(Outage(.keyModule, "the refresh-token key \(id) could not be loaded"))
        }
        return key
    }
}

extension KeyRing: DeviceDigester {
    package func digest(_ device: DeviceValue, at issuer: Issuer) async throws(PortError) -> DeviceDigest {
        guard let key = try loaded().deviceKey else { throw .noActiveKey(for: .device) }
        guard let digest = DeviceDigest(octets: try await .hmac(Self.message(device, issuer), under: key)) else {
            throw .broken("a device digest has not 32 octets")
        }
        return digest
    }

    /// label ‖ length of the issuer (2, big-endian) ‖ issuer ‖ device value: unambiguous for every pair. A `device_id` has a
    /// label of its own, because a `device_secret` alone signs its device out (RFC 7009), and a `device_id` must not.
    private static func message(_ device: DeviceValue, _ issuer: Issuer) -> [UInt8] {
        let issuer = Array(issuer.string.utf8)  // at most Issuer.maximumLength, 512
        let count = UInt16(clamping: issuer.count)
        let label = device.profile == .deviceID ? "native-sso device id\0" : "native-sso device secret\0"
        return Array(label.utf8) + [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + issuer
            + device.octets
    }
}

extension KeyRing: RecordAuthenticator {
    package func tag(_ kind: AuthenticatedRecord, _ fields: [[UInt8]]) async throws(PortError) -> [UInt8] {
        guard let key = try loaded().deviceKey else { throw .noActiveKey(for: .device) }
        // Uses the device key, because it is never replaced. Its other messages have other labels.
        var message = Array("native-sso record\0\(kind.rawValue)\0".utf8)
        for field in fields {
            guard let count = UInt32(exactly: field.count) else { throw .broken("a field of a record is too long") }
            for shift in [24, 16, 8, 0] { message.append(UInt8(truncatingIfNeeded: count >> UInt32(shift))) }
            message += field
        }
        return try await .hmac(message, under: key)
    }
}

extension [UInt8] {
    fileprivate static func hmac(_ message: [UInt8], under key: any MessageAuthenticator) async throws(PortError)
        -> [UInt8]
    {
        do throws(KeyError) {
            return try await key.tag(message)
        } catch {
            throw PortError(error)
        }
    }
}
