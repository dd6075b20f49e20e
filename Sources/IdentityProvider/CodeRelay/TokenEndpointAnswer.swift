import NativeSSO
import StrictCoding

/// What a token endpoint answered, as it came. RFC 6749 §5.
struct TokenEndpointAnswer: Sendable {
    let status: Int
    /// Every `Content-Type` field.
    let contentType: [String]
    let body: [UInt8]

    private static let longestToken = 16 << 10
    private static let longestScope = 4096

    /// The tokens of a success; throws what else it is.
    func tokens() throws(CodeRelayError) -> ProviderTokens {
        switch status {
        case 200: break
        case 400, 401, 403: throw try refusal()
        case 429, 500...599: throw .unanswered(.unavailable)
        default: throw .unanswered(.status)
        }
        let json = try object()
        do throws(CodeRelayError) {
            return try tokens(json)
        } catch {
            guard case .unanswered(let fault, orphan: _) = error, let orphan = json.string("refresh_token"),
                Self.isToken(orphan)
            else { throw error }
            throw .unanswered(fault, orphan: orphan)
        }
    }

    private func tokens(_ json: JSONObject) throws(CodeRelayError) -> ProviderTokens {
        guard let accessToken = json.string("access_token"), Self.isToken(accessToken),
            json.string("token_type")?.lowercased().hasSameOctets(as: "bearer") == true
        else { throw .unanswered(.malformed) }
        guard json.contains("id_token") else { throw .unanswered(.noIDToken) }
        guard let idToken = json.string("id_token"), Self.isToken(idToken) else { throw .unanswered(.malformed) }
        return ProviderTokens(
            accessToken: accessToken, expiresIn: try lifetime(json),
            refreshToken: try text("refresh_token", of: json, Self.isToken),
            scope: try text("scope", of: json, Self.isScope), idToken: idToken,
            deviceSecret: try text("device_secret", of: json, Self.isToken))
    }

    /// Of the closed set of errors; what it says beside that goes nowhere.
    private func refusal() throws(CodeRelayError) -> CodeRelayError {
        guard let code = try object().string("error"), !code.isEmpty else { throw .unanswered(.malformed) }
        guard !Self.outages.contains(where: code.hasSameOctets) else { return .unanswered(.unavailable) }
        return .refused(Self.errors.first { code.hasSameOctets(as: $0.name) }?.error ?? .other)
    }

    private static let outages = ["temporarily_unavailable", "server_error"]
    private static let errors: [(name: String, error: ProviderError)] = [
        ("invalid_request", .invalidRequest), ("invalid_client", .invalidClient), ("invalid_grant", .invalidGrant),
        ("unauthorized_client", .unauthorizedClient), ("unsupported_grant_type", .unsupportedGrantType),
        ("invalid_scope", .invalidScope), ("interaction_required", .interactionRequired),
        ("login_required", .interactionRequired), ("consent_required", .interactionRequired),
        ("account_selection_required", .interactionRequired),
    ]

    private func object() throws(CodeRelayError) -> JSONObject {
        guard contentType.count == 1, Self.isJSON(contentType[0]) else { throw .unanswered(.contentType) }
        guard let object = (try? JSONReader.parse(body))?.object else { throw .unanswered(.notJSON) }
        return object
    }

    private static func isJSON(_ field: String) -> Bool {
        let type = field.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return String(Substring(type)).lowercased().hasSameOctets(as: "application/json")
    }

    /// Absent, or a text that holds.
    private func text(
        _ name: String, of json: JSONObject, _ holds: (String) -> Bool
    ) throws(CodeRelayError) -> String? {
        guard let value = json[name], value != .null else { return nil }
        guard let text = value.string, holds(text) else { throw .unanswered(.malformed) }
        return text
    }

    private func lifetime(_ json: JSONObject) throws(CodeRelayError) -> Int64? {
        guard let value = json["expires_in"], value != .null else { return nil }
        guard let seconds = value.number?.wholeSeconds, seconds >= 0 else { throw .unanswered(.malformed) }
        return seconds
    }

    /// RFC 6749 App. A.12, A.17.
    private static func isToken(_ text: String) -> Bool {
        (1...longestToken).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// RFC 6749 App. A.4, with the empty scope that some providers write.
    private static func isScope(_ text: String) -> Bool {
        text.utf8.count <= longestScope && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
