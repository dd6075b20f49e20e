import Glibc
import NativeSSO
import StrictCoding

/// An access key of AWS. It prints as `****`.
package struct AWSCredentials: Sendable, Hashable, Redacted {
    let accessKey: String
    let secretKey: String
    /// Of temporary credentials.
    var sessionToken: String?
}

extension AWSCredentials {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for temporary credentials, `AWS_SESSION_TOKEN`.
    package init(environment: [String: String]) throws(KMSDefect) {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
        let values = names.compactMap { environment[$0].flatMap { $0.isEmpty ? nil : $0 } }
        guard values.count == 2 else {
            throw .noCredentials(
                "keys.kms.credentials_file is not given, and AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set")
        }
        self.init(accessKey: values[0], secretKey: values[1], sessionToken: environment["AWS_SESSION_TOKEN"])
    }

    /// The profile `default` of a credentials file as AWS's own tools write it.
    package init(file octets: [UInt8]) throws(KMSDefect) {
        var values: [Substring: String] = [:]
        var isDefault = true
        for line in String(decoding: octets, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let line = line.trimmed
            if line.hasPrefix("[") {
                isDefault = line == "[default]"
            } else if isDefault, let equals = line.firstIndex(of: "="), !line.hasPrefix("#") {
                values[line[..<equals].trimmed] = String(line[line.index(after: equals)...].trimmed)
            }
        }
        guard let accessKey = values["aws_access_key_id"], let secretKey = values["aws_secret_access_key"] else {
            throw .noCredentials(
                "the file of keys.kms.credentials_file has no aws_access_key_id and aws_secret_access_key in [default]")
        }
        self.init(accessKey: accessKey, secretKey: secretKey, sessionToken: values["aws_session_token"])
    }
}

/// Signature Version 4 of a request to an AWS service.
struct AWSSignature {
    let credentials: AWSCredentials
    let region: String
    let service: String

    /// The value of `Authorization` for a POST to `/`.
    /// - Parameters:
    ///   - headers: All that are signed, with lower-case names in alphabetical order; `host` and `x-amz-date` among them.
    ///   - date: As in `x-amz-date`.
    func authorization(headers: [(name: String, value: String)], body: [UInt8], date: String) throws(KeyError) -> String
    {
        let names = headers.map(\.name).joined(separator: ";")
        let canonical =
            "POST\n/\n\n" + headers.map { "\($0.name):\($0.value)\n" }.joined() + "\n\(names)\n" + Self.hash(body)
        let scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n" + Self.hash(Array(canonical.utf8))
        let signature = Hexadecimal.encode(try Self.hmac(text, key: try signingKey(on: String(date.prefix(8)))))
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), "
            + "Signature=\(signature)"
    }

    /// - Parameter day: Eight digits.
    func signingKey(on day: String) throws(KeyError) -> [UInt8] {
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [day, region, service, "aws4_request"] { key = try Self.hmac(part, key: key) }
        return key
    }

    private static func hash(_ octets: [UInt8]) -> String {
        Hexadecimal.encode(TokenHashFunction.sha256.digest(octets))
    }

    private static func hmac(_ text: String, key: [UInt8]) throws(KeyError) -> [UInt8] {
        let tag = unsafe key.withUnsafeBytes { key in unsafe HMACTemplate.sha256?.tag(Array(text.utf8), key: key) }
        guard let tag else { throw .openSSL("EVP_MAC") }
        return tag
    }

    /// As `x-amz-date` has it, such as `20150830T123600Z`.
    static func date(_ now: UnixTime) -> String {
        var time = time_t(now.seconds)
        var parts = unsafe tm()
        unsafe gmtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = unsafe strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
