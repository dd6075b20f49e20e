@testable import KeyModule
import NativeSSO
import StrictCoding
import Testing

/// Signature Version 4, against values that AWS has published. `KMSKeyProviderTests` check it against botocore.
@Suite struct AWSSignatureTests {
    private let signature = AWSSignature(
        credentials: AWSCredentials(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1", service: "service")
    private static let date = "20150830T123600Z"
    private static let headers = [("host", "example.amazonaws.com"), ("x-amz-date", date)]

    /// `post-vanilla` and `post-x-www-form-urlencoded` of AWS's test suite.
    @Test(arguments: [
        ([], "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            [("content-type", "application/x-www-form-urlencoded")], "Param1=value1", "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
        ),
    ])
    func isThatOfTheTestSuite(more: [(String, String)], body: String, names: String, expected: String) throws {
        #expect(
            try signature.authorization(headers: more + Self.headers, body: Array(body.utf8), date: Self.date)
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=\(names), Signature=\(expected)")
    }

    /// The example of AWS's guide for the derivation of the key.
    @Test func theKeyIsThatOfTheGuide() throws {
        let signature = AWSSignature(credentials: signature.credentials, region: "us-east-1", service: "iam")
        #expect(
            Hexadecimal.encode(try signature.signingKey(on: "20150830"))
                == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9")
    }

    @Test func theDateIsInUTC() {
        #expect(AWSSignature.date(UnixTime(seconds: 1_440_938_160)) == Self.date)
        #expect(AWSSignature.date(UnixTime(seconds: 0)) == "19700101T000000Z")
    }

    @Test func credentialsComeFromAFileOrTheEnvironment() throws {
        let file = """
            [other]
            aws_access_key_id = X
            [default]
            # a comment
            aws_access_key_id=AKID
            aws_secret_access_key = a/b+c=
            aws_session_token=t
            [third]
            aws_access_key_id = Y

            """
        let expected = AWSCredentials(accessKey: "AKID", secretKey: "a/b+c=", sessionToken: "t")
        #expect(try AWSCredentials(file: Array(file.utf8)) == expected)
        #expect(
            try AWSCredentials(environment: [
                "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "a/b+c=", "AWS_SESSION_TOKEN": "t",
            ]) == expected)
        #expect("\(expected)" == "****")
        var dumped = ""
        dump(expected, to: &dumped)
        #expect(!dumped.contains("AKID"))
        for text in ["", "[default]\naws_access_key_id = A\n", "[x]\naws_access_key_id=A\naws_secret_access_key=B\n"] {
            #expect(throws: KMSDefect.self, "\(text)") { try AWSCredentials(file: Array(text.utf8)) }
        }
        for variables in [[:], ["AWS_ACCESS_KEY_ID": "A"], ["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": ""]] {
            #expect(throws: KMSDefect.self) { try AWSCredentials(environment: variables) }
        }
    }
}
