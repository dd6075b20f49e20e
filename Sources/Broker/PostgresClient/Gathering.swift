/// How many calls of a statement are made by another one: it takes them as an array, and answers those that it could make.
///
/// Its one parameter is an array of a composite type whose attributes are parameters of a call. Its rows have the columns of the
/// statement's own answer, among them `place`, the call's place in the array, a `bigint` from 1 on; one row for a call at most.
/// A call that is not answered had no effect, and is then made by itself.
public final class Gathering: Sendable {
    /// A parameter of the statement, counted from 0, and the type of the attribute that it becomes.
    public struct Field: Sendable {
        let parameter: Int
        let type: ColumnType

        /// An attribute's type, which is never a domain: a domain's object id is another in each database.
        public enum FieldType: Sendable {
            case bool, int32, int64, text, bytes, uuid, timestamp, textArray
        }

        public init(_ parameter: Int, _ type: FieldType) {
            self.parameter = parameter
            self.type =
                switch type {
                case .bool: .bool
                case .int32: .int4
                case .int64: .int8
                case .text: .text
                case .bytes: .bytea
                case .uuid: .uuid
                case .timestamp: .timestamptz
                case .textArray: .textArray
                }
        }
    }

    /// That which makes them.
    public let statement: Statement
    /// The composite type, with its schema.
    let element: StaticString
    /// Its attributes, in their order.
    let fields: [Field]
    /// Calls in which one of these parameters is not NULL are always made each by itself.
    let absent: [Int]

    public init(_ sql: StaticString, of element: StaticString, _ fields: [Field], withoutParameters absent: [Int]) {
        statement = Statement(sql)
        self.element = element
        self.fields = fields
        self.absent = absent
    }

    func takes(_ parameters: EncodedParameters) -> Bool {
        absent.allSatisfy { parameters.lengths.indices.contains($0) && parameters.lengths[$0] < 0 }
    }
}

extension EncodedParameters {
    /// One parameter: an array of composite values (`array_recv`, `record_recv`), an element for each call, whose octets are
    /// taken as they are. `nil` where a call has not all of the parameters, or together they are too long for a parameter.
    init?(gathering calls: [EncodedParameters], _ fields: [Gathering.Field], element: UInt32) {
        self.init()
        octets.reserveCapacity(1 + 20 + calls.count * (8 + 8 * fields.count) + calls.reduce(0) { $0 + $1.octets.count })
        octets.append(0)
        append(Int32(1))  // dimensions
        append(Int32(0))  // no element is NULL
        append(Int32(bitPattern: element))
        append(Int32(clamping: calls.count))
        append(Int32(1))  // the first one's index
        var starts: [Int] = []
        for call in calls {
            starts.removeAll(keepingCapacity: true)
            var position = 1
            for length in call.lengths {
                starts.append(position)
                position += Int(max(0, length))
            }
            var size = 4
            for field in fields {
                guard call.lengths.indices.contains(field.parameter) else { return nil }
                size += 8 + Int(max(0, call.lengths[field.parameter]))
            }
            append(Int32(clamping: size))
            append(Int32(clamping: fields.count))
            for field in fields {
                let (start, length) = (starts[field.parameter], call.lengths[field.parameter])
                append(Int32(bitPattern: field.type.objectID))
                append(length)
                if length > 0 { octets.append(contentsOf: call.octets[start..<start + Int(length)]) }
            }
        }
        guard let length = Int32(exactly: octets.count - 1) else { return nil }
        lengths.append(length)
    }
}
