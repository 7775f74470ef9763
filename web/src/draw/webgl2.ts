// Draws with WebGL2: every call is instances of one quad, whose corners come from a buffer
// that is filled anew each frame. A frame has up to some ten thousand of them, 20 bytes each.

import type { Colour } from "./palette.ts";
import { type Area, Batch, type Box, type Raster, type Renderer, STRIDE } from "./renderer.ts";

const QUADS_VERTEX = `#version 300 es
layout(location = 0) in vec4 box;     // x0, y0, x1, y1 in pixels
layout(location = 1) in vec4 colour;
uniform vec2 size;
out vec4 fill;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 at = mix(box.xy, box.zw, corner) / size * 2.0 - 1.0;
  gl_Position = vec4(at.x, -at.y, 0, 1);
  fill = colour;
}`;

const QUADS_FRAGMENT = `#version 300 es
precision mediump float;
in vec4 fill;
out vec4 pixel;
void main() { pixel = fill; }`;

const IMAGE_VERTEX = `#version 300 es
uniform vec4 box;
uniform vec4 part;                    // in shares of the image
uniform vec2 size;
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 at = mix(box.xy, box.zw, corner) / size * 2.0 - 1.0;
  gl_Position = vec4(at.x, -at.y, 0, 1);
  place = mix(part.xy, part.zw, corner);
}`;

const IMAGE_FRAGMENT = `#version 300 es
precision mediump float;
uniform sampler2D image;
in vec2 place;
out vec4 pixel;
void main() { pixel = texture(image, place); }`;

/** What is made anew when the browser gives the context back after a loss. */
interface Programs {
  readonly quads: WebGLProgram;
  readonly images: WebGLProgram;
  readonly quadArray: WebGLVertexArrayObject;
  readonly imageArray: WebGLVertexArrayObject;
  readonly buffer: WebGLBuffer;
  readonly quadSize: WebGLUniformLocation | null;
  readonly imageSize: WebGLUniformLocation | null;
  readonly imageBox: WebGLUniformLocation | null;
  readonly imagePart: WebGLUniformLocation | null;
}

export class WebGL2 implements Renderer {
  readonly name = "webgl";
  private programs: Programs;
  private textures = new WeakMap<Raster, WebGLTexture>();
  private readonly steps = new Batch();
  private width = 0;
  private height = 0;

  /** Null where the browser has no WebGL2. */
  static on(canvas: HTMLCanvasElement): WebGL2 | null {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, preserveDrawingBuffer: true });
    return gl ? new WebGL2(canvas, gl) : null;
  }

  private constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
  ) {
    this.programs = this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault()); // or it never comes back
    canvas.addEventListener("webglcontextrestored", () => {
      this.textures = new WeakMap();
      this.programs = this.prepare();
    });
  }

  begin(width: number, height: number, background: Colour): void {
    const { gl } = this;
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.width = width;
    this.height = height;
    gl.viewport(0, 0, width, height);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.clearColor(
      (background & 255) / 255,
      ((background >> 8) & 255) / 255,
      ((background >> 16) & 255) / 255,
      1,
    );
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  clip(box: Box | null): void {
    const { gl } = this;
    if (!box) {
      gl.disable(gl.SCISSOR_TEST);
      return;
    }
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(box.x, this.height - box.y - box.height, box.width, box.height); // counted from below
  }

  rects(batch: Batch): void {
    if (batch.count === 0) return;
    const { gl, programs } = this;
    gl.useProgram(programs.quads);
    gl.bindVertexArray(programs.quadArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, programs.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, batch.edges.subarray(0, batch.count * STRIDE), gl.STREAM_DRAW);
    gl.uniform2f(programs.quadSize, this.width, this.height);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, batch.count);
  }

  area({ count, x, low, high, colour }: Area): void {
    this.steps.clear();
    for (let i = 0; i < count; i++) {
      if (x[i + 1]! > x[i]! && low[i]! > high[i]!)
        this.steps.add(x[i]!, high[i]!, x[i + 1]!, low[i]!, colour);
    }
    this.rects(this.steps);
  }

  image(raster: Raster, part: Box, box: Box): void {
    const { gl, programs } = this;
    gl.useProgram(programs.images);
    gl.bindVertexArray(programs.imageArray);
    gl.bindTexture(gl.TEXTURE_2D, this.texture(raster));
    gl.uniform2f(programs.imageSize, this.width, this.height);
    gl.uniform4f(programs.imageBox, box.x, box.y, box.x + box.width, box.y + box.height);
    const { width, height } = raster;
    const right = (part.x + part.width) / width;
    gl.uniform4f(programs.imagePart, part.x / width, part.y / height, right, (part.y + part.height) / height);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  end(): void {}

  close(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  private prepare(): Programs {
    const { gl } = this;
    const quads = link(gl, QUADS_VERTEX, QUADS_FRAGMENT);
    const images = link(gl, IMAGE_VERTEX, IMAGE_FRAGMENT);
    const quadArray = gl.createVertexArray();
    const imageArray = gl.createVertexArray();
    const buffer = gl.createBuffer();
    gl.bindVertexArray(quadArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    for (const [location, size, type, normalized, offset] of [
      [0, 4, gl.FLOAT, false, 0],
      [1, 4, gl.UNSIGNED_BYTE, true, 16],
    ] as const) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, type, normalized, STRIDE * 4, offset);
      gl.vertexAttribDivisor(location, 1);
    }
    const imageAt = (name: string) => gl.getUniformLocation(images, name);
    return {
      ...{ quads, images, quadArray, imageArray, buffer },
      quadSize: gl.getUniformLocation(quads, "size"),
      ...{ imageSize: imageAt("size"), imageBox: imageAt("box"), imagePart: imageAt("part") },
    };
  }

  private texture(raster: Raster): WebGLTexture {
    const { gl } = this;
    let texture = this.textures.get(raster);
    if (!texture) {
      texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      const { width, height, rgba } = raster;
      gl.texImage2D(
        gl.TEXTURE_2D,
        0,
        gl.RGBA,
        width,
        height,
        0,
        gl.RGBA,
        gl.UNSIGNED_BYTE,
        new Uint8Array(rgba.buffer),
      );
      for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
        gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
      for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T])
        gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
      this.textures.set(raster, texture);
    }
    return texture;
  }
}

/** Compiles and links; an error holds what the driver says of the source. */
function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const) {
    const shader = gl.createShader(type);
    if (!shader) throw new Error("webgl: the context is lost");
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`webgl: ${gl.getProgramInfoLog(program)}`);
  }
  return program;
}
