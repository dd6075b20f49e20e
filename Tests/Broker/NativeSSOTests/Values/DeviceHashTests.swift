import Foundation
import NativeSSO
import StrictCoding
import Testing

/// Native SSO §1.8's rule against the vectors of `hash-vectors.json`.
@Suite struct DeviceHashTests {
    private static let functions: [(name: String, function: TokenHashFunction)] = [
        ("sha256", .sha256), ("sha384", .sha384), ("sha512", .sha512),
    ]
    private static let file = VectorFile("hash-vectors")

    @Test func leftHalfUnderEveryFunction() throws {
        var count = 0
        for vector in try Self.file.objects("vectors") {
            let device = try device(vector, .deviceSecret)
            for (name, function) in Self.functions {
                let expected = try #require(vector.object("hash")?.object(name)?.string("left_half_b64url"))
                #expect(device.hash(function: function) == expected)
                #expect(device.matches(claim: expected, function: function, mode: .leftHalf))
                count += 1
            }
        }
        #expect(count == 30)
    }

    @Test func vendorModes() throws {
        let modes: [(DeviceHashMode, String)] = [
            (.leftHalf, "left_half_sha256_b64url"), (.fullSHA256, "full_sha256_b64url"),
            (.fullSHA256Hex, "full_sha256_hex"), (.fullSHA512Hex, "full_sha512_hex"),
        ]
        for vector in try Self.file.objects("vectors") {
            let device = try device(vector, .deviceSecretTransitional)
            for (mode, name) in modes {
                let claim = try #require(vector.object("vendor_variants")?.string(name))
                #expect(device.matches(claim: claim, function: .sha256, mode: mode))
                for (other, _) in modes where other != mode {
                    #expect(!device.matches(claim: claim, function: .sha256, mode: other))
                }
            }
        }
    }

    /// Only Apereo CAS writes hexadecimal in either case.
    @Test func caseCountsExceptInOneMode() throws {
        let device = try #require(DeviceValue("casdfgarfgasdfg", profile: .deviceSecret))
        for mode in DeviceHashMode.allCases {
            let claim = device.hash(function: .sha256, mode: mode)
            #expect(device.matches(claim: claim, function: .sha256, mode: mode))
            #expect(
                device.matches(claim: claim.uppercased(), function: .sha256, mode: mode) == (mode == .fullSHA512Hex))
        }
    }

    /// A `di_hash` is always the left half of the hash, whatever the mode for `ds_hash`.
    @Test func theModeIsForDeviceSecretsOnly() throws {
        let device = try #require(DeviceValue("95twdf3w4y6wvftw35634t", profile: .deviceID))
        for mode in DeviceHashMode.allCases {
            #expect(device.matches(claim: "b2011aotZ8lT3eslukasAg", function: .sha256, mode: mode))
        }
    }

    @Test func whatMustNotMatch() throws {
        let negative = try #require(try Self.file.root.object("negative"))
        let alphabet = try #require(negative.object("standard_alphabet"))
        let wrong = try #require(negative.object("must_not_match")).members
        #expect(wrong.count == 11)
        for (vector, claims) in [
            (negative, wrong.map(\.value.string)), (alphabet, [alphabet.string("must_not_match")]),
        ] {
            let text = try #require(vector.string("for"))
            let device = try #require(DeviceValue(text, profile: .deviceID))
            let correct = try #require(vector.string("correct"))
            #expect(device.matches(claim: correct, function: .sha256, mode: .leftHalf))
            for claim in claims {
                let claim = try #require(claim)
                #expect(!device.matches(claim: claim, function: .sha256, mode: .leftHalf), "\(claim)")
            }
        }
    }

    @Test func aHashUnderAnotherFunctionDoesNotMatch() throws {
        for vector in try Self.file.objects("vectors") {
            let device = try device(vector, .deviceSecret)
            for (_, function) in Self.functions {
                let claim = device.hash(function: function)
                for (_, other) in Self.functions where other != function {
                    #expect(!device.matches(claim: claim, function: other, mode: .leftHalf))
                }
            }
        }
    }

    /// A look-alike of another script folds to the right letters in no mode.
    @Test func aClaimOutsideASCIIDoesNotMatch() throws {
        let device = try #require(DeviceValue("95twdf3w4y6wvftw35634t", profile: .deviceSecret))
        for mode in DeviceHashMode.allCases {
            let claim = device.hash(function: .sha256, mode: mode)
            for foreign in [
                claim + "\u{301}", "\u{FEFF}" + claim, claim.replacing("a", with: "\u{FF41}"), claim + "\n",
            ]
            where foreign != claim {
                #expect(!device.matches(claim: foreign, function: .sha256, mode: mode))
            }
        }
    }

    private func device(_ vector: JSONObject, _ profile: Profile) throws -> DeviceValue {
        let value = try #require(vector.string("value"))
        return try #require(DeviceValue(value, profile: profile))
    }
}

/// A JSON file of `Vectors/`.
struct VectorFile {
    private let name: String

    init(_ name: String) { self.name = name }

    var root: JSONObject {
        get throws {
            let url = try #require(
                Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
            let limits = JSONLimits(members: 10_000, elements: 10_000)
            return try #require(try JSONReader.parse([UInt8](Data(contentsOf: url)), limits: limits).object)
        }
    }

    /// The elements of the array `name`, which must not be empty.
    func objects(_ name: String) throws -> [JSONObject] {
        let objects = try #require(try root.array(name)).compactMap(\.object)
        try #require(!objects.isEmpty)
        return objects
    }
}
