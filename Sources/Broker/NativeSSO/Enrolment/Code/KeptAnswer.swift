import Crypto
import StrictCoding

/// What the broker stores for a code, always sealed. A repeated request continues from it.
enum KeptAnswer: Equatable {
    /// The identity provider's tokens and the device secret. The broker can make the rest again.
    case tokens(ProviderTokens)
    case answer(ProviderTokens)
    case refused(ProviderError)

    var octets: [UInt8] {
        var json = JSONWriter(reservingCapacity: 4096)
        json.object { json in
            switch self {
            case .tokens(let answer): Self.write("tokens", answer, to: &json)
            case .answer(let answer): Self.write("answer", answer, to: &json)
            case .refused(let error): json.member("refused", error.rawValue)
            }
        }
        return json.bytes
    }

    init?(octets: [UInt8]) {
        guard let json = (try? JSONReader.parse(octets))?.object else { return nil }
        if let tokens = json.object("tokens").flatMap(Self.answer) {
            self = .tokens(tokens)
        } else if let answer = json.object("answer").flatMap(Self.answer) {
            self = .answer(answer)
        } else if let error = json.string("refused").flatMap(ProviderError.init(rawValue:)) {
            self = .refused(error)
        } else {
            return nil
        }
    }

    private static func write(_ name: String, _ tokens: ProviderTokens, to json: inout JSONWriter) {
        json.member(
            name,
            object: { json in
                json.member("access_token", tokens.accessToken)
                if let expiresIn = tokens.expiresIn { json.member("expires_in", expiresIn) }
                if let refreshToken = tokens.refreshToken { json.member("refresh_token", refreshToken) }
                if let scope = tokens.scope { json.member("scope", scope) }
                json.member("id_token", tokens.idToken)
                if let idToken = tokens.providerIDToken { json.member("idp_id_token", idToken) }
                if let deviceSecret = tokens.deviceSecret { json.member("device_secret", deviceSecret) }
            })
    }

    private static func answer(_ json: JSONObject) -> ProviderTokens? {
        guard let accessToken = json.string("access_token"), let idToken = json.string("id_token") else { return nil }
        return ProviderTokens(
            accessToken: accessToken, expiresIn: json.number("expires_in")?.int64,
            refreshToken: json.string("refresh_token"), scope: json.string("scope"), idToken: idToken,
            providerIDToken: json.string("idp_id_token"), deviceSecret: json.string("device_secret"))
    }
}

/// Seals the stored answer of a code, so that only the same request can open it: same issuer, client, code, verifier,
/// redirect URI, device value, scope and key.
///
/// The sealing key is derived from the code and its verifier, which the database never sees, under the device key of
/// the key module, which the database does not hold either. A stolen database with all its backups opens nothing. A
/// thief who has only the code opens nothing either.
struct CodeSeal {
    let name: CodeName
    let binding: CodeBinding
    private let key: SymmetricKey

    init(_ request: CodeRequest, _ records: any RecordAuthenticator) async throws(PortError) {
        let issuer = Array(request.issuer.issuer.string.utf8)
        let code = Array(request.code.code.utf8)
        // The name omits the client, so that another app with the same code cannot make the IdP see the code twice.
        name = CodeName(octets: try await records.tag(.authorizationCode, [issuer, code]))
        let secret = try await records.tag(
            .codeAnswer,
            [
                issuer, code, Array(request.code.verifier.utf8), Array(request.code.redirectURI.utf8),
                Array(request.client.id.string.utf8), request.device?.octets ?? [],
                // The order of scopes does not matter, RFC 6749 §3.3.
                request.scope.map { Array(Scope($0.tokens.sorted()).description.utf8) } ?? [],
                request.proof.map { Array($0.key.string.utf8) } ?? [],
            ])
        let input = SymmetricKey(data: secret)
        binding = CodeBinding(octets: Self.derive("native-sso code binding", from: input).withUnsafeBytes(Array.init))
        key = Self.derive("native-sso code answer", from: input)
    }

    private static func derive(_ purpose: String, from secret: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Array(purpose.utf8), outputByteCount: 32)
    }

    /// AES-256-GCM under a random nonce. Each attempt to finish seals once more under the same key.
    func seal(_ kept: KeptAnswer) throws(PortError) -> [UInt8] {
        guard
            let box = try? AES.GCM.seal(kept.octets, using: key, authenticating: name.octets), let sealed = box.combined
        else { throw .broken("an answer cannot be sealed") }
        return Array(sealed)
    }

    func open(_ sealed: [UInt8]) throws(PortError) -> KeptAnswer {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let octets = try? AES.GCM.open(box, using: key, authenticating: name.octets),
            let kept = KeptAnswer(octets: Array(octets))
        else { throw .broken("the answer that is kept for a code cannot be opened") }
        return kept
    }
}
