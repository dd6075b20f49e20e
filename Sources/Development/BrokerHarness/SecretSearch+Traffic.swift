import Foundation
import StrictCoding

extension SecretSearch {
    /// Adds the credentials in a raw request, found by the names of its parameters and header fields.
    package mutating func addCredentials(of octets: [UInt8], _ name: String) {
        let text = String(decoding: octets, as: UTF8.self)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1).map(String.init)
        let head = parts[0].split(separator: "\r\n").map(String.init)
        let query = head.first?.split(separator: "?").dropFirst().first?.split(separator: " ").first ?? ""
        for pair in (parts.dropFirst().first ?? "").split(separator: "&") + query.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
            guard sides.count == 2, Self.parameters.contains(sides[0]) else { continue }
            addLong(sides[1], "\(name): \(sides[0])")
            if let plain = sides[1].removingPercentEncoding, plain != sides[1] {
                addLong(plain, "\(name): \(sides[0])")
            }
        }
        for line in head.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard sides.count == 2, Self.fields.contains(sides[0].lowercased()) else { continue }
            let credentials = sides[1].split(separator: " ").last.map(String.init) ?? ""
            addLong(credentials, "\(name): \(sides[0])")
            if let plain = Data(base64Encoded: credentials) {
                let password = String(decoding: plain, as: UTF8.self).split(separator: ":").dropFirst().last
                addLong(String(password ?? ""), "\(name): a password")
            }
        }
    }

    /// Adds the tokens of an answer.
    package mutating func addTokens(of answer: HTTPAnswer, _ name: String) {
        for member in ["access_token", "refresh_token", "id_token", "device_secret"] {
            if let token = answer.json?.string(member) { add(token, "\(name): \(member)") }
        }
    }

    /// Something as short as a word would be found anywhere.
    private mutating func addLong(_ text: String, _ name: String) {
        if text.utf8.count >= 20 { add(text, name) }
    }

    private static let parameters: Set = [
        "subject_token", "actor_token", "refresh_token", "client_secret", "client_assertion", "code", "code_verifier",
        "device_secret", "device_id", "password", "assertion", "logout_token",
    ]
    private static let fields: Set = ["authorization", "dpop", "cookie"]
}
